"""How hard each example of a search was, as a table: broken test cases show up as examples that every arm fails."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from boxthirding._text import counted, cut, writer
from boxthirding.find.summary import dataframe

if TYPE_CHECKING:
    import pandas as pd

_SHOWN: Final = 10  # examples that are printed
_LONGEST: Final = 60  # characters of one


@dataclass(frozen=True)
class ExampleDifficulty:
    """An example, and how hard it is."""

    index: int  # in the sequence of examples that was given
    example: Any
    difficulty: float  # by how much results on it are worse than on an average example, arms being equal
    error: float  # the standard error of the difficulty
    mean: float  # of the results on it
    arms: int  # how many have seen it
    discrimination: float  # how clearly it tells good arms from bad ones: 1 is average, 0 is not at all


@dataclass(frozen=True, repr=False)
class ExampleTable:
    """The examples that a search has seen, the hardest first.

    `for example in found.examples()` goes through them; `to_dataframe()` has a row for each.
    """

    rows: tuple[ExampleDifficulty, ...]

    def __iter__(self) -> Iterator[ExampleDifficulty]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a pandas DataFrame, the hardest example first.

        Its columns are `index`, `example`, `difficulty`, `error`, `mean`, `arms` and `discrimination`.
        """
        return dataframe([vars(row) for row in self.rows])

    def __repr__(self) -> str:
        if not self.rows:
            return "No example has a result yet"
        write = writer(number for row in self.rows for number in (row.difficulty, row.error, row.mean))
        shown = self.rows[:_SHOWN]
        texts = [cut(" ".join(repr(row.example).split()), _LONGEST) for row in shown]
        width = max(map(len, texts))
        lines = ["Examples, the hardest first (difficulty: how much worse results are than on an average example):"]
        lines += [
            f"  {text:{width}}  difficulty {write(row.difficulty)} ± {write(row.error)}, mean {write(row.mean)}, "
            f"{counted(row.arms, 'arm')}, discrimination {row.discrimination:.1f}"
            for text, row in zip(texts, shown, strict=True)
        ]
        if len(self.rows) > _SHOWN:
            lines.append(f"  and {len(self.rows) - _SHOWN:,} more; to_dataframe() has all of them")
        return "\n".join(lines)
