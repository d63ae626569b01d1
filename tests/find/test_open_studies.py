"""`find_best` over anything that asks and tells: an open session, an open study, or a class of your own."""

import asyncio
import pickle
import threading

import pytest
from keeping import Place
from stories import QUIET, score

from boxthirding import open_study
from boxthirding.errors import EvaluationFailed, InvalidInput, StudyDiffers
from boxthirding.find import Examples, find_best, find_best_async
from boxthirding.session import AskTell, Session
from boxthirding.storage.memory import MemoryJournal
from boxthirding.storage.sqlite import SqliteJournal
from boxthirding.study import Study

VERBS = [name for name in vars(AskTell) if not name.startswith("_")]


class Own:
    """An `AskTell` of a third party: its verbs, and nothing else."""

    def __init__(self, session):
        self.__session = session

    def __getattr__(self, name):
        if name not in VERBS:
            raise AttributeError(f"{name!r} is not in AskTell")
        return getattr(self.__session, name)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["session", "memory", "sqlite", "own"])
def make(request):
    """Return what opens something that asks and tells; it is closed in the end."""
    opened = []

    def opener(arms, **settings):
        if request.param in ("session", "own"):
            session = Session(arms, **settings)
            return session if request.param == "session" else Own(session)
        url = "run.db" if request.param == "sqlite" else "memory:open"
        opened.append(open_study(url, f"open {request.node.name}", arms=arms, **settings))
        return opened[-1]

    yield opener
    for study in opened:
        study.close()


def test_the_seam_has_what_a_search_needs():
    assert {"ask", "tell", "fail", "held", "release", "worker", "reclaim", "glance", "view", "payload"} <= set(VERBS)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_open_study_is_asked_and_told_and_stays_open(make, workers):
    study = make(50, seed=2)
    found = find_best(None, score, budget=60, workers=workers, study=study, **QUIET)
    assert (found.stopped, found.spending.pulls, study.view().spent, study.view().open) == ("budget", 60, 60, 0)
    assert found.session is study
    if workers == 1:
        assert found.recommendation == find_best(50, score, budget=60, seed=2, **QUIET).recommendation
    again = find_best(None, score, budget=90, workers=workers, study=study, **QUIET)
    assert (again.spending.pulls, again.spending.elsewhere) == (30, 60)
    (ticket,) = study.ask()  # the caller goes on
    study.tell(ticket, 1.0)
    assert study.view().spent == 91


def test_everything_of_a_result_works_on_it(make):
    study = make({"low": {"x": 1}, "high": {"x": 9}})
    found = find_best(None, lambda arm: arm["x"], budget=30, study=study, **QUIET)
    assert (found.best, found.label, found.arm("low")) == ({"x": 9}, "high", {"x": 1})
    assert found.history[-1][1] == "high"
    assert [arm.mean for arm in found.confirm(2, pulls=3).arms] == [9, 1]
    assert study.view().spent == 30  # nobody is told of fresh pulls
    first, mean, _, _, then, *_, spent = str(found).splitlines()
    assert (first, mean.split(" over ")[0]) == ("Best: 'high': x=9", "  mean 9")
    assert then.startswith("    'low': x=1  mean 1 over ")
    assert spent.startswith("  Spent 30 of 30 pulls")


def test_coroutines_work_on_it(make):
    async def evaluate(arm):
        await asyncio.sleep(0)
        return score(arm)

    async def main():
        study = make(50)
        return await find_best_async(None, evaluate, budget=40, workers=4, study=study, **QUIET)

    assert asyncio.run(main()).spending.pulls == 40


def test_an_error_releases_what_was_not_evaluated(make):
    study = make(50)
    with pytest.raises(EvaluationFailed):
        find_best(None, lambda _: 1 / 0, budget=9, study=study, **QUIET)
    assert (study.view().open, study.view().holders) == (1, {})


def test_tickets_of_others_count_for_the_budget_and_stay_theirs(make):
    study = make(50)
    theirs = study.ask(4, holder="the lab")
    found = find_best(None, score, budget=10, study=study, **QUIET)
    assert (found.spending.pulls, found.stopped) == (6, "waiting")
    assert "others have the other 4: the lab has 4" in repr(found)
    assert study.held("the lab") == theirs


def test_two_searches_share_an_open_study(make):
    study, pulls = make(50), []

    def search():
        pulls.append(find_best(None, score, budget=80, workers=2, study=study, **QUIET).spending.pulls)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(pulls), study.view().spent, study.view().open) == (80, 80, 0)


def test_examples_of_an_open_study_run_out(make):
    calls = []
    study = make(5, examples=10, seed=4)

    def evaluate(arm, example):
        calls.append((arm, example))
        return score(arm, example)

    found = find_best(None, evaluate, budget=200, examples=range(10), study=study, **QUIET)
    assert (found.stopped, len(calls)) == ("known", len(set(calls)))
    other = []
    find_best(5, lambda *pair: other.append(pair) or score(*pair), budget=200, examples=range(10), seed=4, **QUIET)
    assert calls == other  # the seed of the study decides the order of examples


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": 50}, "arms were given, but the open study has its own: give None instead"),
        ({"policy": "us"}, "policy is .*, but the open study has its own: leave it out"),
        ({"seed": 0}, "seed is 0, but the open study has its own: leave it out"),
        ({"direction": "maximize"}, "direction is 'maximize', but the open study has its own"),
        ({"known": {1: 0.5}}, r"known results were given beside an open study: call its observe_all\(\)"),
    ],
)
def test_what_the_study_has_is_refused(make, options, message):
    study = make(50)
    options = {"arms": None, "budget": 9, "study": study} | options
    with pytest.raises(InvalidInput, match=message):
        find_best(evaluate=lambda _: pytest.fail("evaluated"), **options, **QUIET)
    assert (study.view().spent, study.view().open) == (0, 0)


@pytest.mark.parametrize(
    ("has", "given", "message"),
    [
        (10, range(9), "the study has 10 examples that run out, but 9 are given"),
        (10, None, "10 examples that run out, but none are given"),
        (10, Examples(range(10), repeat=True), "10 examples that run out, but 10 that may be repeated are given"),
        (None, range(9), "the study has no examples, but 9 are given"),
    ],
)
def test_other_examples_than_the_study_has_are_refused(make, has, given, message):
    study = make(50, examples=has)
    with pytest.raises(StudyDiffers, match=message):
        find_best(None, lambda *_: pytest.fail("evaluated"), budget=9, examples=given, study=study, **QUIET)


def test_without_a_study_there_must_be_arms():
    with pytest.raises(InvalidInput, match="arms is None, but only a study that is there has arms of its own"):
        find_best(None, score, budget=9, **QUIET)


def test_a_study_in_a_database_knows_its_arms():
    arms = {"low": {"x": 1}, "high": {"x": 9}}
    find_best(arms, lambda arm: arm["x"], budget=10, study="run.db", **QUIET)
    found = find_best(None, lambda arm: arm["x"], budget=20, study="run.db", **QUIET)
    assert (found.best, found.spending.pulls) == ({"x": 9}, 10)
    with pytest.raises(InvalidInput, match="there is no study 'other' here"):
        find_best(None, score, budget=20, study=("run.db", "other"), **QUIET)


@pytest.mark.parametrize("is_open", [True, False])
def test_arms_of_which_a_study_has_a_digest_alone_must_be_given_again(is_open):
    arms, seen = [(k, 9 - k) for k in range(10)], []
    find_best(arms, lambda arm: arm[0], budget=20, policy="us", study="run.db", **QUIET)
    with open_study("run.db") as study:
        given = study if is_open else "run.db"
        with pytest.raises(InvalidInput, match=r"arm 0 and 9 more of the study cannot be evaluated.*give the same"):
            find_best(None, lambda _: pytest.fail("evaluated"), budget=60, study=given, **QUIET)
        for label in range(1, 10):
            study.withdraw(label)
        study.add({"json": {"v": 1}})
        assert study.not_here() == [0]
    with open_study("run.db", arms=arms) as study:
        assert study.not_here() == []
        find_best(None, lambda arm: seen.append(arm) or 1.0, budget=60, study=study, **QUIET)
    assert (0, 9) in seen
    assert all(arm in ((0, 9), {"v": 1}) for arm in seen)


@pytest.mark.parametrize("kind", [Session, Study])
def test_a_class_is_no_open_study(kind):
    with pytest.raises(InvalidInput, match=r"study is <class .*, but must be a path or URL"):
        find_best(None, score, budget=6, study=kind, **QUIET)


# Other arms under the same labels


CONFIGS = [{"lr": 0.1 * i, "depth": i} for i in range(1, 6)]


@pytest.mark.parametrize(
    ("arms", "others", "first"),
    [
        (CONFIGS, CONFIGS[::-1], 0),
        (CONFIGS, [*CONFIGS[:3], {"lr": 0.4, "depth": 5}, CONFIGS[4]], 3),
        ([0.1, 0.2, 0.3], [0.1, 0.25, 0.3], 1),
        ([(1, 2), (3, 4)], [(1, 2), (3, 5)], 1),
        ({"a": [1], "b": [2]}, {"a": [1], "b": [3]}, "b"),
        (CONFIGS, 5, None),
    ],
)
def test_other_arms_under_the_same_labels_are_refused_and_the_first_is_named(arms, others, first):
    rewards = iter(range(1000))
    find_best(arms, lambda _: next(rewards), budget=30, study="run.db", **QUIET)
    match = f"arm {first!r} of study 'main' (is|has) " if first is not None else "of study 'main' is not just its label"
    with pytest.raises(StudyDiffers, match=match):
        find_best(others, lambda _: pytest.fail("evaluated"), budget=60, study="run.db", **QUIET)
    found = find_best(arms, lambda _: next(rewards), budget=40, study="run.db", **QUIET)
    assert (found.spending.pulls, found.spending.elsewhere) == (10, 30)


def test_a_billion_arms_are_a_range_in_a_study():
    found = find_best(10**9, lambda arm: arm % 1000, budget=50, study="run.db", **QUIET)
    again = find_best(range(10**9), lambda arm: arm % 1000, budget=60, study="run.db", **QUIET)
    assert (found.spending.pulls, again.spending.pulls, again.session.view().arms) == (50, 10, 10**9)
    with pytest.raises(StudyDiffers, match="1,000,000,000 arms, not 999,999,999"):
        find_best(10**9 - 1, score, budget=60, study="run.db", **QUIET)


# How often the journal is read


@pytest.mark.parametrize(("kind", "place"), [(MemoryJournal, "memory:reads"), (SqliteJournal, "run.db")])
@pytest.mark.parametrize("fails", [False, True])
def test_the_journal_is_read_at_most_twice_a_pull(kind, place, fails, monkeypatch):
    whole, reads = kind.read, []

    def read(journal, after, limit):
        reads.append(after)
        return whole(journal, after, limit)

    def evaluate(arm):
        if fails and arm % 10 == 0:
            raise OSError
        return score(arm)

    monkeypatch.setattr(kind, "read", read)
    counts = []
    for name, pulls in (("short", 100), ("long", 400)):
        reads.clear()
        find_best(1000, evaluate, budget=pulls, on_error="withdraw", study=(place, f"{name} {fails}"), **QUIET)
        counts.append(len(reads))
    assert counts[1] - counts[0] <= 2 * 300
    assert counts[0] <= 2 * 100 + 20


# Pickled results


@pytest.mark.parametrize("study", [None, "run.db"])
def test_a_result_can_be_pickled_but_not_confirm(study):
    found = find_best({"a": [1], "b": [2]}, lambda arm: arm[0], budget=20, study=study, **QUIET)
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301  # our own
    assert (copy.best, copy.label, copy.stopped) == ([2], "b", "budget")
    assert (copy.recommendation, copy.history, copy.top(2)) == (found.recommendation, found.history, found.top(2))
    assert (copy.spending, repr(copy)) == (found.spending, repr(found))
    with pytest.raises(InvalidInput, match="this result was pickled without the function that evaluates arms"):
        copy.confirm(1, 5)
    with pytest.raises(InvalidInput, match="call find_best again"):
        asyncio.run(copy.confirm_async(1, 5))
    assert found.confirm(1, 5).arms[0].mean == 2


def test_tickets_of_a_dead_holder_are_evaluated_once_their_lease_has_run_out():
    place = Place()
    study = place.open("me", arms=5, lease=10)
    study.ask(3, holder="dead")
    found = find_best(None, float, budget=3, study=study, progress=False)
    assert (found.stopped, found.spending.pulls) == ("waiting", 0)
    place.now += 10
    found = find_best(None, float, budget=3, study=study, workers=2, progress=False)
    assert (found.stopped, found.spending.pulls, study.spent, study.open) == ("budget", 3, 3, 0)
