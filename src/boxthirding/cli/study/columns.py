"""The columns of arms, as plates and results carry them: what the file of arms had beside the labels."""

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boxthirding.types import Label


class Columns:
    """The columns of some arms; one that repeats the labels is left out."""

    def __init__(self, arms: "Sequence[tuple[Label, Any]]", taken: Collection[str]) -> None:
        rows = {label: payload for label, payload in arms if isinstance(payload, dict)}
        names = dict.fromkeys(name for row in rows.values() for name in row)
        self._rows = rows
        self._names = [name for name in names if any(_text(row, name) != str(label) for label, row in rows.items())]
        self.headings = [f"{name} (arm)" if name in taken else name for name in self._names]
        """Their names, but for those that the table has for something else."""

    def cells(self, label: "Label") -> list[str]:
        """Return the cells of an arm, empty where it has none."""
        return [_text(self._rows.get(label, {}), name) for name in self._names]


def in_words(label: "Label", payload: Any) -> str:
    """Return the columns of an arm on one line, with what they are called; nothing, where it has none.

    >>> in_words("ann", {"name": "ann", "rate": "0.1", "note": ""})
    'rate 0.1'
    """
    columns = Columns([(label, payload)], ())
    cells = zip(columns.headings, columns.cells(label), strict=True)
    return ", ".join(f"{name} {cell}" for name, cell in cells if cell)


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name, "")
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
