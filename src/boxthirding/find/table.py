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
    return [{"label": arm.label, **_columns(arm.label, study.payload(arm.label)), **_measured(arm)} for arm in tried]


def dataframe(study: AskTell) -> "pd.DataFrame":
    """Return the rows as a pandas DataFrame."""
    try:
        import pandas as pd  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtra("to_dataframe", "pandas", "pandas") from error
    table = rows(study)
    return pd.DataFrame(table, columns=None if table else list(_OWN))


def _columns(label: Any, arm: Any) -> dict[str, Any]:
    """Return what was given as an arm, by column; a name that is ours gets `arm_` before it."""
    if is_label(arm, label):
        return {}
    if not isinstance(arm, Mapping):
        return {"arm": arm}
    return {f"arm_{key}" if key in _OWN else str(key): value for key, value in arm.items()}


def _measured(arm: Any) -> dict[str, Any]:
    return {name: getattr(arm, name) for name in _OWN[1:]}
