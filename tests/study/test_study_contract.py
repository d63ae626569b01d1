"""A study is a session: the same contract, and whatever its journal is read by gives the same state."""

from contextlib import suppress

import pytest

from boxthirding.errors import InvalidInput
from boxthirding.policies import POLICIES, BoxThirding
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study
from boxthirding.study.events import Asked
from boxthirding.testing.scenarios import for_scenarios
from boxthirding.testing.session_contract import check_session

TOLD = {"budget": 1, "sigma": 0.5}
EVERY = [kind(**{key: TOLD[key] for key in TOLD if key in kind.told}) for kind in POLICIES.values()]


def kept(arms, policy, *, holder=None, clock=None, **settings):
    """Make a study in memory."""
    study = Study("contract", MemoryJournal(), Settings(arms, policy, **settings), holder=holder, clock=clock)
    return study, study.state


def same_again(study, journal):
    """Return the state of a study, which is that of its journal read again, and of a snapshot."""
    state = study.state()
    for each in (copied(journal), copied(journal, state)):
        assert each.state() == state
    return state


def copied(journal, snapshot=None):
    """Return a copy of a study, made from its journal or from a snapshot."""
    texts, copy = journal.read(0, 1_000_000), MemoryJournal()
    with copy.writing():
        copy.append(0, texts)
        if snapshot is not None:
            copy.keep(len(texts), snapshot)
    study = Study("contract", copy, holder="copy", clock=lambda: 1e9)
    study.recommend()  # a rule may note the answer to this question
    return study


def go_on(study):
    """Let a good deal more happen: tickets released, arms withdrawn, met or not, arms added, results."""
    for holder in study.view().holders:
        study.release(*study.held(holder)[::2])
    met = {label for entry in study.events() if isinstance(entry.event, Asked) for _, label, _ in entry.event.tickets}
    study.add(["further 1", "further 2"])
    for label in sorted(met, key=str)[::3] + [f"arm {i}" for i in range(0, 150, 7)] + list(range(0, 150, 5)):
        with suppress(InvalidInput):
            study.withdraw(label)
    for _ in range(10):
        for ticket in study.ask(5):
            study.tell(ticket, ticket.id % 7)
    study.recommend()
    return study.state()


def check(policy, scenario):
    made = []

    def make(*arguments, **settings):
        made.append(kept(*arguments, **settings))
        return made[-1]

    check_session(policy, scenario, make)
    for study, _ in made:
        journal = study._transactions.journal
        state = same_again(study, journal)
        assert go_on(copied(journal)) == go_on(copied(journal, state))


@pytest.mark.parametrize("policy", [*EVERY, BoxThirding(effort=0.3, reuse="topup")], ids=str)
@pytest.mark.parametrize("examples", [8, pytest.param(40, marks=pytest.mark.soak)])
def test_a_study_keeps_the_contract_of_a_session(policy, examples):
    for_scenarios(policy, check, examples)
