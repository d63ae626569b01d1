"""The contract of a policy in a live session, or a study: whatever happens, in any order, by any number of holders."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from boxthirding.errors import InvalidInput
from boxthirding.session import AskTell, Session
from boxthirding.testing.scenarios import RARE, Scenario, broken, expect
from boxthirding.testing.session_model import LEASE, Maker, SessionModel
from boxthirding.types import Label, Policy


class SessionInTheOpen(Session):
    """A session whose rule's state can be read."""

    def state(self) -> bytes:
        """Return all arrays of the rule's state."""
        return b"".join(np.asarray(array).tobytes() for array in self._core.running.arrays)


def live(arms: int | Iterable[Label], policy: Policy, **settings: Any) -> tuple[AskTell, Callable[[], bytes]]:
    """Make a session, and what reads its state."""
    session = SessionInTheOpen(arms, policy, **settings)
    return session, session.state


def check_session(policy: Policy, scenario: Scenario, make: Maker = live) -> None:
    """Check a policy in a session that goes as a scenario says."""
    if not policy.open_ended:
        _check_iterator_refused(policy)
    model = SessionModel(policy, scenario, make)
    for _ in range(scenario.steps):
        chance = model.rng.randrange(100)
        for verb in RARE:
            if chance < scenario.shares[verb]:
                getattr(model, verb)()
                break
            chance -= scenario.shares[verb]
        else:
            if chance == 0:
                model.now += LEASE * model.rng.random()
            elif model.open and (len(model.open) >= scenario.workers or model.rng.randrange(2)):
                model.tell()
            else:
                model.ask()
        model.check()
    model.check_all()


def _check_iterator_refused(policy: Policy) -> None:
    drawn: list[int] = []
    try:
        Session(map(drawn.append, range(3)), policy)
    except InvalidInput:
        expect(not drawn, "the iterator was drawn from before it was refused")
        return
    broken("an iterator was taken by a policy that must know how many arms there are")
