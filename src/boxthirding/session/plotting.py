"""`plot` of sessions, studies and results: what it shows is read as anything else that asks and tells is read."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from boxthirding._text import visible
from boxthirding.errors import InvalidInput
from boxthirding.figures import live
from boxthirding.session.history import Moment
from boxthirding.session.protocol import AskTell
from boxthirding.session.values import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS: Final = ("answer", "arms", "boxes")
_MOST: Final = 5_000  # arms that a picture shows


def plot(study: AskTell, kind: str, ax: "Axes | None", history: Sequence[Moment]) -> "Axes":
    """Draw what is known of a session or study; `history` is what its best arm was over time."""
    if kind not in KINDS:
        rule = f"kind is {kind!r}, but must be one of {', '.join(KINDS)}"
        is_file = PurePath(str(kind)).suffix != ""
        raise InvalidInput(f"{rule}: plot().figure.savefig({str(kind)!r}) writes a file" if is_file else rule)
    view = study.view()
    if view.recommendation is None:
        raise InvalidInput("there is nothing to plot: no arm has a result yet")
    if kind == "boxes" and not view.boxes:
        raise InvalidInput(f"policy {view.policy} has no boxes to plot: give kind='answer' or kind='arms'")
    axes = live.axes_for(ax)
    if kind == "answer":
        live.draw_answer(axes, points(history))
        axes.set_title("The answer over time", loc="left", fontsize=12)
    elif kind == "arms":
        _draw_arms(study, view, axes)
    else:
        _draw_boxes(view, axes)
    return axes


def points(history: Sequence[Moment]) -> list[live.Point]:
    """Return a history as it is drawn."""
    return [live.Point(moment.results, moment.mean, visible(moment.label)) for moment in history]


def _draw_arms(study: AskTell, view: View, axes: "Axes") -> None:
    dots = [
        live.Point(arm.pulls, arm.mean, visible(arm.label))
        for arm in study.arms(0, min(_MOST, max(1, view.tried)))
        if arm.mean is not None and not arm.withdrawn
    ]
    best = "" if view.recommendation is None else visible(view.recommendation.label)
    live.draw_arms(axes, dots, best)
    of = f" of {view.arms:,} arms" if view.arms is not None else " arms"
    shown = f", the best {_MOST:,} shown" if view.tried > _MOST else ""
    axes.set_title(f"{view.tried:,}{of} tried{shown}", loc="left", fontsize=12)


def _draw_boxes(view: View, axes: "Axes") -> None:
    boxes = [(box.level, box.deferment, box.arms) for box in view.boxes]
    live.draw_boxes(axes, boxes, None if view.recommendation is None else view.recommendation.level)
