"""The arms of a result as a table: a row for each arm that was tried."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from boxthirding.errors import MissingExtra
from boxthirding.find.words import is_label
from boxthirding.session import AskTell

if TYPE_CHECKING:
    import pandas as pd

_OWN: Final = ("label", "mean", "pulls", "level", "withdrawn")


def rows(study: AskTell) -> list[dict[str, Any]]:
    """Return a row for each arm that was tried, best first; the keys of an arm that is a dictionary are columns."""
    tried = study.arms(0, max(1, study.view().tried))
    return [row(arm.label, study.payload(arm.label), {name: getattr(arm, name) for name in _OWN[1:]}) for arm in tried]


def row(label: Any, arm: Any, measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an arm: its label, what was given as the arm by column, and what was measured.

    A key of an arm that has the name of another column gets `arm_` before it.
    """
    given = {} if is_label(arm, label) else arm if isinstance(arm, Mapping) else {"arm": arm}
    own = ("label", *measured)
    columns = {f"arm_{key}" if key in own else str(key): value for key, value in given.items()}
    return {"label": label, **columns, **measured}


def dataframe(table: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return rows as a pandas DataFrame."""
    try:
        import pandas as pd  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtra("to_dataframe", "pandas", "pandas") from error
    return pd.DataFrame(table, columns=None if table else list(_OWN))
