"""The contract of `AskTell`, as tests: for sessions and studies, and for a third party's own."""

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, Final

from boxthirding import errors
from boxthirding.session import AskTell, Session, Ticket
from boxthirding.session.values import BY_CLOCK
from boxthirding.testing.scenarios import broken, expect, expect_refusal
from boxthirding.types import Label

_HOLDERS: Final = ("ann", "bob", "cid")
_THREADS: Final = 4
_MANY: Final = 1_000


class AskTellContract:
    """Subclass it, say how to make what asks and tells, and pytest finds the tests.

    What is made is closed after each test, if it has a `close`.
    """

    def make(self, arms: int | Iterable[Any] | Mapping[Label, Any], **settings: Any) -> AskTell:
        """Return a new one of its own with these arms; the settings are those of `Session`.

        They are some of policy, seed, direction, patience, examples and known.
        """
        raise NotImplementedError

    def teardown_method(self) -> None:
        """Close what a test has made."""
        for study in self.__dict__.pop("_made", ()):
            if hasattr(study, "close"):
                study.close()

    def test_a_ticket_is_one_pull_of_an_arm(self) -> None:
        """Tickets have ids of their own and carry what was given; they are told in any order, also by id."""
        study = self._new({"low": {"x": 1}, "high": {"x": 9}, "plain": "plain"})
        expect(study.recommend() is None, "an arm is recommended before the first result")
        expect(study.top(3) == [], "arms are ranked before the first result")
        pulls: dict[Label, int] = {}
        ids: set[int] = set()
        for number in range(40):
            tickets = study.ask(2)
            expect(0 < len(tickets) <= 2, f"asked for 2 tickets, got {len(tickets)}")  # noqa: PLR2004
            for ticket in tickets:
                expect(ticket.id not in ids, f"ticket {ticket.id} was handed out twice")
                ids.add(ticket.id)
                wanted = {"low": {"x": 1}, "high": {"x": 9}}.get(str(ticket.label), ticket.label)
                expect(ticket.payload == wanted, f"ticket {ticket.id} carries {ticket.payload!r}, not {wanted!r}")
                expect(ticket.pull == pulls.get(ticket.label, 0), "the pulls of an arm are not counted from 0")
                pulls[ticket.label] = ticket.pull + 1
            for ticket in reversed(tickets):
                study.tell(ticket if number % 2 else ticket.id, {"low": 1.0, "high": 9.0, "plain": 5.0}[ticket.label])
        best = study.recommend()
        expect(best is not None and best.label == "high", f"{best} is recommended, though 'high' was always best")
        expect(best == study.top(1)[0], "the best of the top is not the recommendation")
        _check_counts(study, pulls=len(ids), spent=len(ids), still_open=0)
        expect(study.payload("high") == {"x": 9}, "the payload of an arm is not what was given")
        expect(study.payload("plain") == "plain", "the payload of an arm without one is not its label")

    def test_it_decides_as_a_session_does(self) -> None:
        """One worker is handed the same tickets, in both directions, by every kind of policy."""
        for policy in ("chase", "b3", "us", "sh:budget=60"):
            for direction in ("maximize", "minimize"):
                settings = {"policy": policy, "seed": 3, "direction": direction}
                ours, theirs = self._new(30, **settings), Session(30, **settings)  # type: ignore[arg-type]  # some of each
                expect(_asked(ours, 60) == _asked(theirs, 60), f"{policy} hands out other tickets than in a session")
                expect(ours.top(9) == theirs.top(9), f"{policy} ranks the arms otherwise than in a session")
                expect(ours.boxes() == theirs.boxes(), f"{policy} has other boxes than in a session")
                expect(ours.ladder() == theirs.ladder(), f"{policy} has another ladder than in a session")
                expect(ours.screening(0.1) == theirs.screening(0.1), "the screening is not that of a session")
                best = [arm.label for arm in ours.top(4)]
                expect(ours.spread(best) == theirs.spread(best), f"{policy}: the spread is not that of a session")
                told = [(row.pull, row.reward, row.counts) for row in ours.results(best[0])]
                there = [(row.pull, row.reward, row.counts) for row in theirs.results(best[0])]
                expect(told == there, f"{policy}: the results of an arm are not those of a session")
                for label in range(30):
                    expect(ours.why(label) == theirs.why(label), f"the story of arm {label} is not that of a session")
                expect(ours.seed == theirs.seed, "the seed is not the one that was given")
                expect(ours.policy == theirs.policy, "the policy is not the one that was given")

    def test_what_is_refused_changes_nothing(self) -> None:
        """Values that break a rule, tickets that are not expected, labels that do not exist."""
        study = self._new(9, patience=3)
        told, void, still_open = study.ask(3, holder="ann")
        study.tell(told, 0.5)
        if len({void.label, told.label, still_open.label}) < 3:  # noqa: PLR2004
            broken("three tickets of a new study are of fewer than three arms")
        study.withdraw(void.label)
        nonsense: tuple[Any, ...] = (float("nan"), float("inf"), "0.5", None)
        unheard: tuple[Any, ...] = (10_000, -1, True, "0")
        no_holders: tuple[Any, ...] = ("", "x" * 201, "a\nb", 5)
        no_details: tuple[Any, ...] = ("text", {"a": {1, 2}}, {"a": float("nan")}, {1: 2}, {"a": "x" * 10_001})
        known: tuple[Any, ...] = (5, ["a"], {0: "high"}, [(0, 0.5), (0, None)])
        attempts: list[tuple[type[errors.BoxThirdingError], Callable[[], object]]] = [
            *[(errors.InvalidInput, lambda reward=reward: study.tell(still_open, reward)) for reward in nonsense],
            *[(errors.UnknownTicket, lambda ticket=ticket: study.tell(ticket, 0.5)) for ticket in unheard],
            *[(errors.InvalidInput, lambda who=who: study.ask(holder=who)) for who in no_holders],
            *[
                (errors.InvalidInput, lambda given=given: study.tell(still_open, 0.5, details=given))
                for given in no_details
            ],
            *[(errors.InvalidInput, lambda given=given: study.observe_all(given)) for given in known],
            (errors.InvalidInput, lambda: study.ask(0)),
            (errors.InvalidInput, lambda: study.ask(1, limit=-1)),
            (errors.AlreadyTold, lambda: study.tell(told, 0.7)),
            (errors.AlreadyTold, lambda: study.fail(told)),
            (errors.ArmWithdrawn, lambda: study.tell(void, 0.7)),
            (errors.ArmWithdrawn, lambda: study.fail(void.id)),
            (errors.TicketRefused, lambda: study.tell(still_open, 0.7, holder="bob")),
            (errors.TicketRefused, lambda: study.release(told)),
            (errors.InvalidInput, study.release),
            (errors.InvalidInput, lambda: study.release(still_open, holder="ann")),
            (errors.InvalidInput, lambda: study.release(holder="nobody")),
            (errors.UnknownLabel, lambda: study.observe("nobody", 0.5)),
            (errors.InvalidInput, lambda: study.observe(void.label, 0.5)),
            (errors.InvalidInput, lambda: study.observe(0, 0.5, pull=0)),
            (errors.UnknownLabel, lambda: study.observe_all({still_open.label: 0.5, "nobody": 0.5})),
            (errors.TicketRefused, lambda: study.correct(still_open, 0.5)),
            (errors.ArmWithdrawn, lambda: study.correct(void, 0.5)),
            (errors.UnknownTicket, lambda: study.correct(10_000, 0.5)),
            (errors.InvalidInput, lambda: study.correct(told, float("nan"))),
            (errors.InvalidInput, lambda: study.exclude("bob")),
            (errors.InvalidInput, lambda: study.include("ann")),
            (errors.InvalidInput, lambda: study.use("nothing")),
            (errors.CannotAmend, lambda: study.use("sh:budget=60")),
            (errors.InvalidInput, lambda: study.add(["new", "new"])),
            (errors.InvalidInput, lambda: study.add(["new", told.label])),
            (errors.UnknownLabel, lambda: study.withdraw("nobody")),
            (errors.InvalidInput, lambda: study.withdraw(void.label)),
            (errors.InvalidInput, lambda: study.top(0)),
            (errors.InvalidInput, lambda: study.arms(-1)),
            (errors.InvalidInput, lambda: study.arms(order="worst")),
            (errors.InvalidInput, lambda: study.boxes(-1)),
            (errors.InvalidInput, lambda: study.ladder(0)),
            (errors.InvalidInput, lambda: study.screening(0.0)),
            (errors.UnknownLabel, lambda: study.why("nobody")),
            (errors.UnknownLabel, lambda: study.payload("nobody")),
        ]
        before = _everything(study)
        for number, (error, attempt) in enumerate(attempts):
            expect_refusal(error, attempt, f"attempt {number}")
            expect(_everything(study) == before, f"attempt {number}, which was refused, has changed something")
        study.tell(still_open, 0.5, holder="ann")

    def test_a_ticket_has_one_holder(self) -> None:
        """`held` lists what a holder has, and only those to whom a ticket was given may tell it."""
        study = self._new(30)
        mine, theirs = study.ask(3, holder="ann"), study.ask(2, holder="bob")
        own = study.ask(1)
        expect(study.held("ann") == mine and study.held("bob") == theirs, "held does not list a holder's tickets")
        expect(study.held() == own, "held without a holder does not list what was asked for without one")
        expect(study.held("cid") == [], "a holder who asked for nothing has a ticket")
        holders = study.view().holders
        expect(holders["ann"] == len(mine) and holders["bob"] == len(theirs), f"the view has the holders {holders}")
        expect(next(iter(holders)) == "ann", "those with the most tickets do not come first")
        study.tell(mine[0], 0.5, holder="ann")
        study.tell(theirs[0], 0.5)
        expect_refusal(
            errors.TicketRefused, lambda: study.tell(theirs[1], 0.5, holder="ann"), "a result of another's ticket"
        )
        expect(study.held("ann") == mine[1:] and study.held("bob") == theirs[1:], "a told ticket is still held")

    def test_released_tickets_go_to_the_next_who_asks(self) -> None:
        """By ticket or by holder; the arm has not failed."""
        study = self._new(30)
        mine = study.ask(4, holder="ann")
        expect(study.release(mine[1], mine[3].id) == [mine[1].id, mine[3].id], "release does not return the ids")
        expect(study.held("ann") == [mine[0], mine[2]], "released tickets are still held")
        expect(study.glance()[2:4] == (4, 2), f"after the release of 2 of 4 tickets a glance is {study.glance()}")
        expect(study.ask(2, holder="bob") == [mine[1], mine[3]], "released tickets are not given to the next who asks")
        expect(study.release(holder="ann") == [mine[0].id, mine[2].id], "a holder's tickets are not all released")
        expect({*study.ask(2, holder="cid")} == {mine[0], mine[2]}, "a holder's released tickets are not given on")
        for ticket in mine:
            study.tell(ticket, 0.5)
        _check_counts(study, pulls=4, spent=4, still_open=0)

    def test_a_late_result_counts_as_one_more(self) -> None:
        """A ticket was given to another meanwhile: both have evaluated the arm."""
        study = self._new(30)
        ticket = _given_on(study)
        study.tell(ticket, 0.25, holder="ann")
        study.tell(ticket, 0.75, holder="bob")
        _check_counts(study, pulls=2, spent=2, still_open=0)
        expect(study.why(ticket.label).mean == 0.5, "the mean is not that of both results")  # noqa: PLR2004
        expect_refusal(errors.AlreadyTold, lambda: study.tell(ticket, 0.5, holder="bob"), "a result told twice")

    def test_with_examples_the_first_result_of_a_ticket_counts(self) -> None:
        """Both have evaluated the same pair of arm and example."""
        study = self._new(30, examples=10)
        ticket = _given_on(study)
        study.tell(ticket, 0.25, holder="ann")
        expect_refusal(errors.AlreadyTold, lambda: study.tell(ticket, 0.75, holder="bob"), "a second result of a pair")
        _check_counts(study, pulls=1, spent=1, still_open=0)

    def test_a_holder_is_handed_an_arm_once_if_that_is_asked_for(self) -> None:
        """Released and failed tickets count as handed; other holders still get those arms."""
        study = self._new(6)
        seen: dict[str, list[Label]] = {holder: [] for holder in _HOLDERS}
        for _ in range(9):
            for holder in _HOLDERS:
                for number, ticket in enumerate(study.ask(2, holder=holder, unseen=True)):
                    seen[holder].append(ticket.label)
                    if number == 0:
                        study.tell(ticket, 0.5, holder=holder)
                    else:
                        study.release(ticket)
        for holder, labels in seen.items():
            expect(len(labels) == len(set(labels)), f"{holder} was handed an arm twice: {labels}")
        alone = self._new(6)
        count = 0
        while tickets := alone.ask(holder="ann", unseen=True):
            count += len(tickets)
            alone.tell(tickets[0], 0.5)
        expect(count == 6, f"one holder was handed {count} of 6 arms")  # noqa: PLR2004
        expect(bool(alone.ask(holder="bob", unseen=True)), "another holder is handed nothing")

    def test_a_limit_is_on_results_and_open_tickets_together(self) -> None:
        """Of all holders; what is released can be given again."""
        study = self._new(30)
        first = study.ask(3, holder="ann", limit=5)
        rest = study.ask(9, holder="bob", limit=5)
        expect((len(first), len(rest)) == (3, 2), f"within a limit of 5, 3 and {len(rest)} tickets were made")
        expect(study.ask(1, holder="cid", limit=5) == [], "a ticket was made beyond the limit")
        study.tell(first[0], 0.5)
        expect(study.ask(1, holder="cid", limit=5) == [], "a result does not count for the limit")
        study.release(*rest)
        expect(study.ask(9, holder="cid", limit=5) == rest, "released tickets are not given within the limit")
        study.observe(first[0].label, 0.5)
        expect(len(study.ask(9, holder="cid", limit=6)) == 1, "a known result was counted for the limit")

    def test_a_failure_is_tried_again_and_an_arm_withdrawn_in_the_end(self) -> None:
        """After `patience` failures in a row; a result in between makes good."""
        study = self._new(["a"], patience=2)
        (ticket,) = study.ask(holder="ann")
        study.fail(ticket)
        expect(study.ask(holder="bob") == [ticket], "a ticket that failed is not given out again")
        study.tell(ticket, 0.5)
        (again,) = study.ask()
        study.fail(again)
        expect(study.view().withdrawn == 0, "an arm is withdrawn, though a result came between its failures")
        expect(study.ask() == [again], "a ticket that failed is not given out again")
        study.fail(again)
        view = study.view()
        expect((view.withdrawn, view.open) == (1, 0), "an arm is not withdrawn after 2 failures in a row")
        expect_refusal(errors.ArmWithdrawn, lambda: study.tell(again, 0.5), "a result of an arm that is withdrawn")
        expect(study.ask() == [], "a ticket of an arm that is withdrawn was made")
        expect(study.recommend() is None, "an arm that is withdrawn is recommended")

    def test_known_results_count_and_are_not_spent(self) -> None:
        """One by one, in all their forms, and from the start."""
        study = self._new(30, known={3: [1.0, 3.0]})
        study.observe(4, 0.5)
        more: dict[Label, Any] = {5: 1.0, 6: [1.0, 2.0]}
        study.observe_all(more)
        study.observe_all([(7, 0.5), (7, 0.5)])
        _check_counts(study, pulls=8, spent=0, still_open=0)
        means = {arm.label: (arm.mean, arm.pulls) for arm in study.arms()}
        wanted = {3: (2.0, 2), 4: (0.5, 1), 5: (1.0, 1), 6: (1.5, 2), 7: (0.5, 2)}
        expect(means == wanted, f"the known arms are {means}, not {wanted}")
        expect(study.screening(0.1) is None, "there is a screening, though known results have put arms first")
        first = [arm.label for arm in study.arms(order="tried")]
        expect(first == [*wanted], f"the known arms come in the order {first}, not {[*wanted]}")
        for ticket in _asked(study, 40):
            expect((ticket.arm < len(wanted)) == (ticket.label in wanted), "an arm comes before the known ones")
            if ticket.label in wanted:
                known = wanted[int(ticket.label)][1]
                expect(ticket.pull >= known, "a known result does not count as a pull of its arm")
        cannot = self._new(30, policy="sh:budget=60")
        expect_refusal(
            errors.CannotAmend, lambda: cannot.observe(3, 0.5), "a known result for a policy that cannot take one"
        )

    def test_a_correction_is_right_at_once(self) -> None:
        """The mean, the recommendation and the counts."""
        study = self._new(["a", "b"])
        by_label = {ticket.label: ticket for ticket in study.ask(2)}
        expect(len(by_label) == 2, "the first two tickets are of one arm")  # noqa: PLR2004
        study.tell(by_label["a"], 90.0)
        study.tell(by_label["b"], 10.0)
        study.correct(by_label["a"], 9.0)
        study.correct(by_label["b"].id, 10.0)  # what it is
        best = study.recommend()
        expect(best is not None and best[:3] == ("b", 10.0, 1), f"after a correction {best} is recommended")
        expect(study.why("a").mean == 9.0, "the mean is not the corrected one")  # noqa: PLR2004
        _check_counts(study, pulls=2, spent=2, still_open=0)

    def test_what_a_holder_told_can_be_left_out_and_taken_back(self) -> None:
        """Told already or still to come; included again, the same sums are back."""
        study = self._new(9, policy="us")
        late: list[Ticket] = []
        for number in range(40):
            for holder in _HOLDERS[:2]:
                (ticket,) = study.ask(holder=holder)
                if number == 39 and holder == "bob":  # noqa: PLR2004
                    late.append(ticket)
                else:
                    study.tell(ticket, float(ticket.label) if holder == "ann" else -float(ticket.label))
        before = _everything(study)
        expect(study.exclude("bob") == 39, "exclude does not return how many results are left out")  # noqa: PLR2004
        view = study.view()
        expect((view.pulls, view.spent, view.excluded) == (40, 79, ("bob",)), f"with bob excluded the view is {view}")
        best = study.recommend()
        expect(best is not None and best[:2] == (8, 8.0), f"with bob excluded {best} is recommended")
        expect(study.include("bob") == 39, "include does not return how many results count again")  # noqa: PLR2004
        expect(_everything(study) == before, "excluded and included again, something is not as it was")
        study.exclude("bob")
        study.tell(late[0], -100.0)
        expect(study.glance()[:2] == (40, 80), "a result of an excluded holder counts, or is not spent")

    def test_another_policy_goes_on_from_what_is_known(self) -> None:
        """Open tickets stay valid, results and holders stay."""
        study = self._new(30, policy="us")
        for _ in range(40):
            for ticket in study.ask():
                study.tell(ticket, float(ticket.label))
        kept = study.ask(2, holder="ann")
        counts = {arm.label: arm[:3] for arm in study.arms()}
        study.use("chase")
        expect(study.view().policy.startswith("chase"), f"the policy is {study.view().policy}, not the new one")
        expect(study.policy.name == "chase", "the policy is not the new one")
        expect({arm.label: arm[:3] for arm in study.arms()} == counts, "the results are not what they were")
        expect(study.held("ann") == kept, "open tickets are not held any more")
        for ticket in kept:
            study.tell(ticket, float(ticket.label), holder="ann")
        _check_counts(study, pulls=42, spent=42, still_open=0)
        for _ in range(20):
            for ticket in study.ask():
                study.tell(ticket, float(ticket.label))
        best = study.recommend()
        expect(best is not None and best.label == 29, f"{best} is recommended, though 29 is always best")  # noqa: PLR2004

    def test_arms_come_and_go(self) -> None:
        """Added ones are handed out, withdrawn ones are not, and their tickets are void."""
        study = self._new(["a", "b"], policy="us")
        study.add({"c": [3]})
        expect(study.view().arms == 3, "an arm that was added is not counted")  # noqa: PLR2004
        tickets = {ticket.label: ticket for ticket in study.ask(3)}
        expect(tickets["c"].payload == [3], "an arm that was added does not carry what was given")
        study.withdraw("b")
        view = study.view()
        expect((view.arms, view.withdrawn, view.open) == (2, 1, 2), f"after a withdrawal the view is {view}")
        study.tell(tickets["a"], 1.0)
        study.tell(tickets["c"], 2.0)
        later = chain.from_iterable(study.ask(2) for _ in range(3))
        expect({ticket.label for ticket in later} == {"a", "c"}, "other arms are handed out than those that are left")
        expect(study.why("b").place == "withdrawn", "the story of a withdrawn arm does not say so")

    def test_examples_run_out(self) -> None:
        """A pair of arm and example is handed out once; then the status is known, and there are no more tickets."""
        study = self._new(4, policy="us", examples=5)
        expect(study.examples == 5, "the number of examples is not the one that was given")  # noqa: PLR2004
        study.observe(2, 2.0, pull=3)
        pairs = [(2, 3)]
        expect_refusal(errors.InvalidInput, lambda: study.observe(2, 2.0, pull=3), "a pair that is known")
        expect_refusal(errors.InvalidInput, lambda: study.observe(2, 2.0), "a known result that names no example")
        expect_refusal(errors.InvalidInput, lambda: study.observe(2, 2.0, pull=5), "an example that there is not")
        while tickets := study.ask(3):
            for ticket in tickets:
                pairs.append((int(ticket.label), ticket.pull))
                study.tell(ticket, float(ticket.label))
        wanted = [(arm, pull) for arm in range(4) for pull in range(5)]
        expect(sorted(pairs) == wanted, "not every pair of arm and example was evaluated, or one was twice")
        expect(study.view().status == "known", f"the status is {study.view().status}, not known")
        best = study.recommend()
        expect(best is not None and best[:3] == (3, 3.0, 5), f"{best} is recommended")

    def test_how_hard_examples_are_is_learned_as_in_a_session(self) -> None:
        """The same arms are handed out on the same examples, and arms have the same means over all examples."""
        ours, theirs = (make(20, examples=9, seed=4) for make in (self._new, Session))
        for study in (ours, theirs):
            for _ in range(120):
                for ticket in study.ask():
                    study.tell(ticket, float(ticket.label) + 5 * ticket.pull)
        expect(ours.difficulties() == theirs.difficulties(), "examples are not as hard as in a session")
        expect(ours.top(20) == theirs.top(20), "arms have other means than in a session")

    def test_a_view_is_all_that_can_be_read_at_one_moment(self) -> None:
        """Its parts agree with each other and with the verbs; as a dict it is JSON."""
        study = self._new(_MANY, policy="b3", seed=5)
        _asked(study, 150)
        kept = study.ask(3, holder="ann")
        view = study.view()
        expect(view.status == "open", f"the status is {view.status}, not open")
        expect((view.arms, view.seed, view.direction) == (_MANY, 5, "maximize"), "the settings are not those given")
        expect(
            (view.pulls, view.spent, view.open) == (150, 150, len(kept)), f"the counts of the view are wrong: {view}"
        )
        expect(view.tried == len(study.arms(count=_MANY)), "the view counts other arms as tried than there are")
        expect(view.recommendation == study.recommend() == view.top[0], "the view recommends another arm")
        first, *_, last = study.history()
        expect((first.results, first.tried) == (1, 1), f"the history begins with {first}, not with the first result")
        now = (view.spent, view.top[0].label, view.top[0].mean, view.tried)
        expect(last[:4] == now, f"the history ends with {last}, but the answer is {view.top[0]}")
        expect([*view.top] == study.top(10), "the top of the view is not the top")
        expect(view.screening == study.screening(0.01), "the screening of the view is not the screening")
        boxes = [(box.level, box.deferment, box.size) for box in study.boxes()]
        expect([tuple(box) for box in view.boxes] == boxes, "the boxes of the view are not the boxes")
        plain = json.loads(json.dumps(view.as_dict(), allow_nan=False))
        expect(plain["version"] >= 1 and plain["pulls"] == view.pulls, "the view as a dict is not the view")
        expect(len(json.dumps(plain)) < 20_000, "the view grows with the arms")  # noqa: PLR2004
        for ticket in kept:
            study.tell(ticket, 0.5)

    def test_pages_cover_all_there_is(self) -> None:
        """Of arms in any order, of arms that are searched for, of boxes and of rungs."""
        study = self._new([f"Arm {i}" for i in range(60)], policy="b3")
        _asked(study, 150)
        for order in ("best", "tried", "latest", "-pulls", "label"):
            whole = study.arms(count=_MANY, order=order)
            pages = [*chain.from_iterable(study.arms(first, 7, order=order) for first in range(0, 70, 7))]
            expect(pages == whole, f"the pages of arms, {order} first, are not all of them")
            expect(len({arm.label for arm in whole}) == len(whole), "an arm is there twice")
        best = study.arms(count=_MANY)
        expect([arm.label for arm in best[:5]] == [arm.label for arm in study.top(5)], "the best are not the top")
        found = study.arms(count=_MANY, search="aRM 1")
        expect(found == [arm for arm in best if str(arm.label).startswith("Arm 1")], "a search finds other arms")
        for box in study.boxes():
            expect(len(box.arms) == min(box.size, 100), "a box does not hold as many arms as it says")
            pages_of_box = [
                arm
                for first in range(0, box.size, 2)
                for page in study.boxes(box.level, first, 2)
                if (page.level, page.deferment) == (box.level, box.deferment)
                for arm in page.arms
            ]
            expect([*box.arms] == pages_of_box, "the pages of a box are not the box")
        for rung in study.ladder():
            pages_of_rung = [study.ladder(rung.most, first, 2)[0].arms for first in range(0, rung.size, 2)]
            expect(rung.arms == (*chain.from_iterable(pages_of_rung),), "the pages of a rung are not the rung")

    def test_a_glance_is_as_of_the_last_call(self) -> None:
        """After whatever call, it shows what a view does."""
        study = self._new(30)
        calls: list[Callable[[], object]] = [
            lambda: study.ask(3, holder="ann"),
            lambda: study.tell(0, 0.5),
            lambda: study.fail(1),
            lambda: study.release(2),
            lambda: study.observe(7, 9.0),
            lambda: study.correct(0, 99.0),
            lambda: study.exclude("ann"),
            lambda: study.include("ann"),
            lambda: study.use("us"),
        ]
        for number, call in enumerate(calls):
            call()
            glance, view = study.glance(), study.view()
            held = sum(view.holders.values())
            same = (view.pulls, view.spent, view.open, held, view.recommendation)
            expect(glance == same, f"after call {number} a glance is {glance}, and the view {same}")

    def test_workers_have_names_of_their_own_while_they_live(self) -> None:
        """What living workers and people hold is not reclaimed."""
        study = self._new(30)
        names = [study.worker() for _ in range(3)]
        expect(len({*names}) == len(names), f"two workers have one name: {names}")
        for name in (*names, "ann"):
            study.ask(2, holder=name)
        expect(study.reclaim() == 0, "tickets of workers that live, or of people, were released")
        expect(study.glance().held == 8, "tickets are not held any more, though no holder has ended")  # noqa: PLR2004

    def test_threads_share_it(self) -> None:
        """No ticket is given to two of them, and every result counts once."""
        study = self._new(200)
        given: list[int] = []

        def work(holder: str) -> None:
            for _ in range(20):
                for ticket in study.ask(2, holder=holder):
                    given.append(ticket.id)
                    study.tell(ticket, float(ticket.label), holder=holder)

        with ThreadPoolExecutor(_THREADS) as threads:
            done = [threads.submit(work, f"thread {number}") for number in range(_THREADS)]
        for thread in done:
            thread.result()  # which raises what went wrong there
        expect(len(given) == len({*given}), "a ticket was given to two threads")
        _check_counts(study, pulls=len(given), spent=len(given), still_open=0)

    def _new(self, arms: int | Iterable[Any] | Mapping[Label, Any], **settings: Any) -> AskTell:
        study = self.make(arms, **{name: value for name, value in settings.items() if value is not None})
        self.__dict__.setdefault("_made", []).append(study)
        return study


def _asked(study: AskTell, pulls: int) -> list[Ticket]:
    """Run a number of pulls as one worker; return its tickets."""
    tickets: list[Ticket] = []
    for _ in range(pulls):
        for ticket in study.ask():
            tickets.append(ticket)
            study.tell(ticket, (37 * ticket.arm + 11 * ticket.pull) % 101 / 101)
    return tickets


def _given_on(study: AskTell) -> Ticket:
    """Return a ticket that ann was given, and then bob."""
    (ticket,) = study.ask(holder="ann")
    study.release(ticket)
    expect(study.ask(holder="bob") == [ticket], "a released ticket is not given to the next who asks")
    return ticket


def _check_counts(study: AskTell, *, pulls: int, spent: int, still_open: int) -> None:
    """Hold the counts of a view and of a glance against those that there must be."""
    view, glance = study.view(), study.glance()
    for name, counts in {"a view": (view.pulls, view.spent, view.open), "a glance": glance[:3]}.items():
        wanted = (pulls, spent, still_open)
        expect(counts == wanted, f"pulls, spent and open of {name} are {counts}, but must be {wanted}")


def _everything(study: AskTell) -> list[Any]:
    """Return all that can be read."""
    view = {name: value for name, value in study.view().as_dict().items() if name not in BY_CLOCK}
    stories = [study.why(arm.label) for arm in study.arms()]
    drawn = [study.boxes(), study.ladder()]
    return [view, study.glance(), study.arms(), drawn, stories, [study.held(who) for who in _HOLDERS]]
