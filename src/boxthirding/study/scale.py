"""The scale of a study: the answers that raters choose from, and the reward of each."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from boxthirding.errors import InvalidInput
from boxthirding.study.state import StudyState

ABOUT: Final = "rating"
"""The key of a study's details with what raters are shown."""


def scale_of(details: Mapping[str, Any] | None) -> dict[str, float]:
    """Return the answers on the scale in a study's details, each with its reward; none without a scale."""
    try:
        return {answer["label"]: float(answer["reward"]) for answer in (details or {})[ABOUT]["scale"]}
    except (KeyError, TypeError, ValueError):  # details of a program that have nothing to do with raters
        return {}


def check_rewards(state: StudyState, rewards: Iterable[float]) -> None:
    """Raise if the study has a scale and a reward is not on it."""
    scale = scale_of(state.details)
    for reward in rewards if scale else ():
        if reward not in scale.values():
            raise InvalidInput(
                f"the reward is {_exact(reward)}, but must be one of the study's scale: {_written(scale)}",
                advice="give one of these, or make a study of its own for other rewards",
            )


def check_change(state: StudyState, details: Mapping[str, Any] | None) -> None:
    """Raise if new details would change the rewards on the scale after results were told."""
    before, after, ledger = scale_of(state.details), scale_of(details), state.core.ledger
    if before == after or not ledger.rows:
        return
    if before:
        moved = [label for label, reward in after.items() if before.get(label, reward) != reward]
        if set(before.values()) == set(after.values()) and not moved:
            return
        problem = f"the scale is {_written(before)}, and cannot become {_written(after)} once there are ratings"
    else:
        rewards = (ledger.result(row).reward for row in range(ledger.rows))
        other = next((reward for reward in rewards if reward not in after.values()), None)
        if other is None:
            return
        problem = f"there is a result of {_exact(other)}, but every result must be on the new scale: {_written(after)}"
    raise InvalidInput(
        problem,
        advice="keep the rewards, with other words for the answers if you like, or make another study with a new scale",
    )


def _written(scale: Mapping[str, float]) -> str:
    answers = sorted(scale.items(), key=lambda answer: answer[1])
    return ", ".join(f"{_exact(reward)} ({label})" for label, reward in answers) or "none"


def _exact(reward: float) -> str:
    """Return a reward with all its digits: it may differ from those on the scale in the last."""
    return repr(reward).removesuffix(".0")
