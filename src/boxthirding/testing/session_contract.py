"""The contract of a policy in a live session, or a study: whatever happens, in any order, by any number of holders."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from boxthirding.errors import InvalidInput
from boxthirding.policies.spec import as_policy
from boxthirding.session import AskTell, Session
from boxthirding.testing.plans import Plan, broken, expect
from boxthirding.testing.session_model import LEASE, Account, Maker
from boxthirding.types import Label, Policy


class Watched:
    """A policy that lets the state of its session be seen."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.state: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def new(self, n_arms: int, seed: int, capacity: int) -> Any:
        """Make a state and keep sight of it."""
        self.state = self._policy.new(n_arms, seed, capacity)
        return self.state

    def grow(self, state: Any) -> Any:
        """Grow a state and keep sight of it."""
        self.state = self._policy.grow(state)
        return self.state


class WatchedSession(Session):
    """A session whose rule's state can be seen, whatever policy takes over."""

    def __init__(self, arms: int | Iterable[Label], policy: Policy, **settings: Any) -> None:
        watched: Any = Watched(policy)
        super().__init__(arms, watched, **settings)
        self.watched = watched

    def use(self, policy: Policy | str) -> None:
        """Keep sight of the policy that takes over."""
        watched: Any = Watched(as_policy(policy))
        super().use(watched)
        self.watched = watched

    def see(self) -> bytes:
        """Return the state of the rule."""
        return b"".join(np.asarray(array).tobytes() for array in self.watched.state)


def live(arms: int | Iterable[Label], policy: Policy, **settings: Any) -> tuple[AskTell, Callable[[], bytes]]:
    """Make a session."""
    session = WatchedSession(arms, policy, **settings)
    return session, session.see


def check_session(policy: Policy, plan: Plan, make: Maker = live) -> None:
    """Check a policy in a session that goes as a plan says."""
    if not policy.open_ended:
        _check_iterator_refused(policy)
    account = Account(policy, plan, make)
    rare = (
        (plan.withdrawn, account.withdraw),
        (plan.added, account.add),
        (plan.refused, account.refuse),
        (plan.failed, account.fail),
        (plan.released, account.release),
        (plan.late, account.tell_late),
        (plan.observed, account.observe),
        (plan.corrected, account.correct),
        (plan.doubted, account.doubt),
        (plan.replaced, account.use),
    )
    for _ in range(plan.steps):
        chance = account.rng.randrange(100)
        for share, verb in rare:
            if chance < share:
                verb()
                break
            chance -= share
        else:
            if chance == 0:
                account.now += LEASE * account.rng.random()
            elif account.open and (len(account.open) >= plan.workers or account.rng.randrange(2)):
                account.tell()
            else:
                account.ask()
        account.check()
    account.check_all()


def _check_iterator_refused(policy: Policy) -> None:
    drawn: list[int] = []
    try:
        Session(map(drawn.append, range(3)), policy)
    except InvalidInput:
        expect(not drawn, "the iterator was drawn from before it was refused")
        return
    broken("an iterator was taken by a policy that must know how many arms there are")
