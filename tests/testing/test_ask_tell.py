"""Sessions and studies pass the contract suite of `AskTell`, and what is broken on purpose does not."""

import inspect
import itertools
import re

import pytest

from boxthirding import Session, open_study
from boxthirding.errors import TicketRefused
from boxthirding.session import AskTell
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study
from boxthirding.testing import AskTellContract, ContractBroken


class TestSession(AskTellContract):
    def make(self, arms, **settings):
        return Session(arms, **settings)


class TestStudyInMemory(AskTellContract):
    def make(self, arms, **settings):
        return Study("contract", MemoryJournal(), Settings(arms, **settings))


class TestStudyInSqlite(AskTellContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.names = itertools.count()
        self.path = tmp_path / "contract.db"

    def make(self, arms, **settings):
        return open_study(self.path, f"study {next(self.names)}", arms=arms, **settings)


class TestAfterEveryCall(AskTellContract):
    """A study that is read again from its journal for every call: what it is told is all in there."""

    def make(self, arms, **settings):
        return Reopened(arms, settings)


class Reopened:
    """Every verb of `AskTell`, each on a `Study` made for it."""

    def __init__(self, arms, settings):
        self._journal = MemoryJournal()
        self._workers = Study("contract", self._journal, Settings(arms, **settings))
        self._latest = self._workers

    def __getattr__(self, name):
        if name in ("worker", "reclaim"):
            return getattr(self._workers, name)
        if name != "glance":
            self._latest = Study("contract", self._journal, holder="session")
        return getattr(self._latest, name)


def test_the_contract_calls_every_verb():
    called = set(re.findall(r"\b(?:study|ours)\.(\w+)", inspect.getsource(AskTellContract)))
    assert {name for name in vars(AskTell) if not name.startswith("_")} <= called


class Loose(Session):
    """Takes a result of anybody."""

    def tell(self, ticket, reward, *, holder=None, details=None):
        try:
            super().tell(ticket, reward, holder=holder, details=details)
        except TicketRefused:
            if holder is None:
                raise
            super().tell(ticket, reward, details=details)


class Spending(Session):
    """Counts known results for a limit."""

    def ask(self, n=1, *, holder=None, unseen=False, limit=None):
        known = self.glance().pulls - self.glance().spent
        limit = None if limit is None else max(0, limit - known)
        return super().ask(n, holder=holder, unseen=unseen, limit=limit)


class Forgetful(Session):
    """Shows an arm to a holder again."""

    def ask(self, n=1, **options):
        return super().ask(n, **options | {"unseen": False})


class Halfway(Session):
    """Takes known results until one is wrong."""

    def observe_all(self, results):
        if not isinstance(results, dict):
            super().observe_all(results)
            return
        for label, reward in results.items():
            self.observe(label, reward)


class Nameless(Session):
    """Has one name for all workers."""

    def worker(self):
        return "find_best-0"


class Greedy(Session):
    """Reclaims what people hold."""

    def reclaim(self):
        return sum(len(self.release(holder=holder)) for holder in self.view().holders)


class Stale(Session):
    """Always shows the first glance."""

    def glance(self):
        self.__dict__.setdefault("first", super().glance())
        return self.first


class Short(Session):
    """Returns the same page over and over."""

    def arms(self, first=0, count=100, *, order="best", search=None):
        return super().arms(0 if first == 7 else first, count, order=order, search=search)


@pytest.mark.parametrize(
    ("kind", "test", "words"),
    [
        (Loose, "test_what_is_refused_changes_nothing", "was taken, but must be refused with TicketRefused"),
        (Loose, "test_a_ticket_has_one_holder", "another's ticket was taken"),
        (Spending, "test_a_limit_is_on_results_and_open_tickets_together", "a known result was counted"),
        (Forgetful, "test_a_holder_is_handed_an_arm_once_if_that_is_asked_for", "was handed an arm twice"),
        (Halfway, "test_what_is_refused_changes_nothing", "which was refused, has changed something"),
        (Nameless, "test_workers_have_names_of_their_own_while_they_live", "two workers have one name"),
        (Greedy, "test_workers_have_names_of_their_own_while_they_live", "were released"),
        (Stale, "test_a_glance_is_as_of_the_last_call", "after call 1 a glance is"),
        (Short, "test_pages_cover_all_there_is", "the pages of arms"),
    ],
)
def test_what_is_broken_fails(kind, test, words):
    suite = type("Suite", (AskTellContract,), {"make": lambda _self, arms, **settings: kind(arms, **settings)})()
    with pytest.raises(ContractBroken, match=words):
        getattr(suite, test)()
