"""What the page of a study shows as it happens, over the API: bounded, whatever is there."""

import json

import pytest
from serving import API, Server

from boxthirding.study import Study

LARGEST = 300_000  # bytes of a reply
ARMS = [f"caption {number}" for number in range(120)]
PLAIN = {"scale": []}  # programs tell any number


def tell(study, pulls, worth=lambda label: int(label.split()[-1]) / 120, holder="bob"):
    while pulls > 0:
        tickets = study.ask(min(pulls, 6), holder=holder)
        study.tell_all([(ticket, worth(ticket.label)) for ticket in tickets])
        pulls -= len(tickets)


def get(server, what, name="captions"):
    reply = server.operator.get(f"{API}/studies/{name}/{what}")
    assert reply.status_code == 200, reply.text
    assert len(reply.content) < LARGEST
    return reply.json()


@pytest.fixture
def study(server):
    one = server.study(arms=ARMS, policy="b3", about=PLAIN)
    tell(one, 400)
    return one


def test_arms_that_begin_alike_have_names_that_tell_them_apart(server):
    arms = [2_000 * "long " + name for name in ("one", "two", "three")]
    study = server.study(arms=arms, policy="chase")
    study.observe_all((arm, 0.5) for arm in arms)
    grid, page, said = get(server, "grid"), get(server, "box?pulls=1"), get(server, "answer")
    for shown in (grid["ladder"][0]["arms"], page["arms"], [said["answer"], *said["next"]]):
        assert {arm["name"] for arm in shown} == {"…one", "…two", "…three"}


class TestGrid:
    def test_it_has_the_boxes_of_the_library_from_the_top(self, server, study):
        grid = get(server, "grid")
        boxes = {(box.level, box.deferment): box.size for box in study.boxes()}
        levels = [level["level"] for level in grid["levels"]]
        assert levels == sorted({level for level, _ in boxes}, reverse=True)
        for level in grid["levels"]:
            assert level["pile"] == boxes.get((level["level"], None), 0)
            sizes = {box["deferment"]: box["size"] for box in level["boxes"]}
            assert sizes == {
                shifted: size for (at, shifted), size in boxes.items() if at == level["level"] and shifted is not None
            }

    def test_upper_levels_have_their_arms_and_lower_ones_when_opened(self, server, study):
        levels = get(server, "grid")["levels"]
        assert [level["open"] for level in levels] == [True] * 4 + [False] * (len(levels) - 4)
        assert all(bool(level["open"]) == any(box["arms"] for box in level["boxes"]) for level in levels)
        lowest = levels[-1]["level"]
        opened = get(server, f"grid?open={lowest}")["levels"][-1]
        assert (opened["open"], opened["upper"]) == (True, False)
        texts = [[arm["text"] for arm in box["arms"]] for box in opened["boxes"]]
        there = [[arm.label for arm in box.arms] for box in study.boxes(lowest, 0, 6) if box.deferment is not None]
        assert texts == there

    def test_an_arm_says_its_mean_and_pulls_and_a_level_the_pulls_there(self, server, study):
        grid = get(server, "grid")
        top = grid["levels"][0]
        there = {arm.label: arm for box in study.boxes(top["level"]) for arm in box.arms}
        for arm in (arm for box in top["boxes"] for arm in box["arms"]):
            assert (arm["mean"], arm["pulls"]) == (pytest.approx(there[arm["text"]].mean), there[arm["text"]].pulls)
        pulls = [arm["pulls"] for box in top["boxes"] for arm in box["arms"]]
        assert top["pulls"] == [min(pulls), max(pulls)]
        assert grid["answer"] == repr(study.recommend().label)

    def test_arms_that_are_withdrawn_do_not_count_as_waiting_or_tried(self, server):
        one = server.study(arms=ARMS[:6], about=PLAIN)
        tell(one, 3)
        for arm in one.arms()[:2]:
            one.withdraw(arm.label)
        for said in (get(server, "grid"), server.operator.get(f"{API}/studies?brief=true").json()["studies"][0]):
            assert (said["arms"], said["untried"]) == (4, 3)

    def test_there_are_none_before_the_first_result(self, server):
        server.study()
        grid = get(server, "grid")
        assert (grid["levels"], grid["ladder"], grid["answer"]) == ([], [], None)

    def test_known_results_do_not_make_a_policy_one_without_boxes(self, server):
        server.study(known=[{"label": "a", "reward": 1}], policy="b3")
        grid = get(server, "grid")
        assert (grid["boxed"], grid["levels"], grid["ladder"]) == (True, [], [])

    @pytest.mark.parametrize(
        ("policy", "boxed", "anew"),
        [("chase", False, False), ("b3", True, True), ("b3:reuse=topup", True, False)],
    )
    def test_it_says_whether_there_are_boxes_and_whether_means_begin_anew_at_a_level(self, server, policy, boxed, anew):
        server.study(policy=policy)
        grid = get(server, "grid")
        assert (grid["boxed"], grid["anew"]) == (boxed, anew)

    @pytest.mark.parametrize("policy", ["chase", "us"])
    def test_a_policy_without_boxes_has_the_ladder_of_the_library_from_the_top(self, server, policy):
        study = server.study(arms=ARMS, policy=policy, about=PLAIN)
        tell(study, 200)
        grid = get(server, "grid")
        ladder = [rung for rung in study.ladder(count=4)[::-1] if rung.size]
        assert (grid["levels"], len(ladder) > 1) == ([], True)
        for shown, rung in zip((shown for shown in grid["ladder"] if shown["size"]), ladder, strict=True):
            assert [shown[name] for name in ("fewest", "most", "size", "keep_up")] == [*rung[:4]]
            arms = [(arm["text"], arm["mean"], arm["pulls"], arm["standing"]) for arm in shown["arms"]]
            assert arms == [tuple(arm) for arm in rung.arms]
        leaders = [arm["key"] for rung in grid["ladder"] for arm in rung["arms"] if arm["standing"] == "leads"]
        assert leaders == [grid["answer"]] == [repr(study.recommend().label)]

    def test_empty_rungs_of_the_ladder_that_follow_each_other_are_one(self, server):
        study = server.study(arms=list("abc"), policy="chase", about=PLAIN)
        study.observe_all([*(("a", 1.0) for _ in range(30)), ("b", 0.5), ("c", 0.5)])
        assert [rung.size for rung in study.ladder()] == [2, 0, 0, 0, 0, 0, 0, 1]
        shown = [(rung["fewest"], rung["most"], rung["size"]) for rung in get(server, "grid")["ladder"]]
        assert shown == [(27, 40, 1), (2, 26, 0), (1, 1, 2)]

    def test_an_answer_of_a_policy_without_boxes_has_no_level(self, server):
        tell(server.study(arms=ARMS, policy="chase", about=PLAIN), 100)
        said = get(server, "answer")
        assert {arm["level"] for arm in [said["answer"], *said["next"]]} == {None}

    def test_what_a_person_sees_of_an_arm_is_shown(self, server):
        picture = server.picture()
        arms = [{"label": "a", "text": "The text", "picture": picture}, {"label": "b"}]
        study = server.study(arms=arms, policy="us")
        study.tell(study.ask()[0], 1.0)
        study.tell(study.ask()[0], 0.5)
        shown = {
            arm["key"]: (arm["text"], arm["picture"]) for rung in get(server, "grid")["ladder"] for arm in rung["arms"]
        }
        assert shown == {"'a'": ("The text", picture), "'b'": ("b", None)}

    def test_a_picture_without_a_text_goes_by_its_label_wherever_operators_look(self, server):
        study = server.study(
            arms=[{"label": name, "text": "", "picture": server.picture(name)} for name in "abc"], about=PLAIN
        )
        tell(study, 30, worth="abc".index)
        best = study.recommend().label
        assert get(server, "answer")["answer"]["text"] == best
        (row,) = server.operator.get(f"{API}/studies", params={"brief": True}).json()["studies"]
        assert row["leads"]["text"] == best
        assert {arm["text"] for rung in get(server, "grid")["ladder"] for arm in rung["arms"]} <= set("abc")

    @pytest.mark.parametrize("opened", ["x", "1,", "-1", "1;2"])
    @pytest.mark.usefixtures("study")
    def test_levels_that_are_none_are_refused(self, server, opened):
        assert server.operator.get(f"{API}/studies/captions/grid?open={opened}").status_code == 422


class TestBox:
    def test_a_pile_is_read_by_pages(self, server, study):
        level = min(box.level for box in study.boxes())
        pile = next(box for box in study.boxes(level, 0, 1000) if box.deferment is None)
        assert pile.size > 5
        page = get(server, f"box?level={level}&deferment=pile&first=2&count=3")
        assert (page["size"], [arm["text"] for arm in page["arms"]]) == (
            pile.size,
            [arm.label for arm in pile.arms[2:5]],
        )

    def test_a_box(self, server, study):
        box = next(box for box in study.boxes() if box.deferment is not None)
        page = get(server, f"box?level={box.level}&deferment={box.deferment}")
        assert [arm["text"] for arm in page["arms"]] == [arm.label for arm in box.arms]

    def test_a_rung_is_read_by_pages(self, server, study):
        rung = study.ladder(count=1_000)[0]
        assert rung.size > 5
        page = get(server, f"box?pulls={rung.most}&first=2&count=3")
        assert (page["size"], [arm["text"] for arm in page["arms"]]) == (
            rung.size,
            [arm.label for arm in rung.arms[2:5]],
        )

    def test_an_arm_of_a_rung_says_whether_it_leads_or_keeps_up(self, server):
        study = server.study(arms=ARMS, policy="chase", about=PLAIN)
        for rewards in ((0.1, 0.2, 0.3), (0.6, 0.6, 0.6)):  # each batch is decided on before its first result
            for ticket, reward in zip(study.ask(30), 10 * rewards, strict=True):
                study.tell(ticket, reward)
        rung = study.ladder(count=50)[0]
        standings = [arm["standing"] for arm in get(server, "box?pulls=1")["arms"]]
        assert standings == [arm.standing for arm in rung.arms]
        assert set(standings) == {"keeps up", ""}  # the leader was pulled again

    @pytest.mark.usefixtures("study")
    @pytest.mark.parametrize("which", ["level=99&deferment=3", "pulls=1000000"])
    def test_a_box_that_is_not_there_is_empty(self, server, which):
        assert get(server, f"box?{which}") == {"size": 0, "first": 0, "arms": []}

    @pytest.mark.usefixtures("study")
    @pytest.mark.parametrize("which", ["", "level=1&pulls=1", "pulls=0", "deferment=1"])
    def test_neither_or_both_of_level_and_pulls_are_refused(self, server, which):
        assert server.operator.get(f"{API}/studies/captions/box?{which}").status_code == 422


class TestAnswer:
    def test_it_has_the_answer_and_the_next_five(self, server, study):
        said = get(server, "answer")
        top = study.top(6)
        assert [said["answer"]["text"], *(arm["text"] for arm in said["next"])] == [arm.label for arm in top]
        assert (said["answer"]["mean"], said["answer"]["pulls"], said["answer"]["level"]) == top[0][1:]

    def test_an_interval_stays_on_the_scale(self, server):
        study = server.study(arms=["a", "b"])
        for reward in (1.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0, 0.5, 1.0, 1.0):
            study.tell(study.ask()[0], reward)
        for arm in [get(server, "answer")["answer"], *get(server, "answer")["next"]]:
            assert 0.0 <= arm["low"] <= arm["mean"] <= arm["high"] <= 1.0

    def test_where_scores_never_differ_and_there_is_no_scale_there_is_no_interval(self, server):
        study = server.study(arms=["a", "b"], about=PLAIN)
        for _ in range(12):
            study.tell(study.ask()[0], 0.7)
        said = get(server, "answer")
        assert [(arm["low"], arm["high"]) for arm in (said["answer"], *said["next"])] == [(None, None)] * 2
        assert "did not differ in 10 repeats" in said["words"]

    def test_it_says_for_how_long(self, server, monkeypatch):
        study = server.study(arms=["a", "b"])
        monkeypatch.setattr(study._transactions, "clock", lambda: server.now)
        study.tell(study.ask()[0], 1.0)
        server.now += 90
        assert get(server, "answer")["since"] == {"at": server.now - 90, "seconds": 90.0, "results": 0}

    def test_there_is_none_before_the_first_result(self, server):
        server.study()
        said = get(server, "answer")
        assert (said["answer"], said["next"], said["since"]) == (None, [], None)

    def test_the_chance_that_a_good_arm_is_there_is_exact_or_not_said(self, server):
        study = server.study(arms=ARMS, about=PLAIN)
        tell(study, 40)
        said = get(server, "answer")["screening"]
        assert said["percent"] in said["words"]
        study.observe(ARMS[-1], 1.0)
        assert get(server, "answer")["screening"] is None


class TestHistory:
    def test_texts_that_begin_alike_are_shown_by_what_tells_them_apart(self, server):
        arms = [30 * "long " + name for name in ("one", "two")]
        study = server.study(arms=arms)
        study.observe(arms[0], 0.5)
        study.observe(arms[1], 1.0)
        assert [moment["text"] for moment in get(server, "history")["moments"]] == ["…one", "…two"]

    def test_it_is_that_of_the_study(self, server, study):
        said = get(server, "history")
        assert [moment["results"] for moment in said["moments"]] == [moment.results for moment in study.history()]
        assert sum(said["rate"]["counts"]) == 400
        assert sum(said["seconds"]["counts"]) == 0

    def test_it_has_the_mean_of_the_answer_after_every_rating(self, server):
        study, answers = server.study(arms=ARMS, about=PLAIN), []
        for turn in range(90):
            (ticket,) = study.ask(holder="bob")
            study.tell(ticket, turn * 37 % 11 / 10, holder="bob")
            answers.append((study.recommend().label, study.recommend().mean))
        moments = {one["results"]: (one["text"], one["mean"]) for one in get(server, "history")["moments"]}
        drawn = [moments[max(results for results in moments if results <= now)] for now in range(1, 91)]
        assert drawn == answers
        assert len({mean for _, mean in answers}) > 8

    def test_it_says_how_many_results_count(self, server, study):
        assert get(server, "history")["pulls"] == get(server, "history")["moments"][-1]["results"] == study.pulls
        study.exclude("bob")
        study.observe("caption 1", 1.0)
        said = get(server, "history")
        assert (said["pulls"], said["moments"][-1]["results"]) == (1, 401)

    def test_response_times_are_counted(self, server):
        server.study()
        rater = server.rater(server.link())
        for seconds in (0.7, 2.5, 2.6):
            rater.rate(rater.next()[0]["ticket"], seconds=seconds)
        said = get(server, "history")["seconds"]
        assert [(said["edges"][place], n) for place, n in enumerate(said["counts"]) if n] == [(0.5, 1), (2.5, 2)]

    def test_a_long_one_is_thinned_and_ends_now(self, server, study, monkeypatch):
        long = [moment for moment in study.history() for _ in range(20)]
        assert len(long) > 1000
        monkeypatch.setattr(Study, "history", lambda _: long)
        moments = get(server, "history")["moments"]
        assert (len(moments) <= 302, moments[-1]["results"]) == (True, 400)

    def test_it_is_there_after_a_restart(self, tmp_path):
        server = Server(tmp_path / "server.db")
        tell(server.study(arms=ARMS, about=PLAIN), 200)
        before = get(server, "history"), get(server, "grid"), get(server, "answer")["answer"]
        server.service.close()
        again = Server(tmp_path / "server.db")
        assert (get(again, "history"), get(again, "grid"), get(again, "answer")["answer"]) == before
        again.close()


@pytest.mark.parametrize("letter", ["x", "\N{PILE OF POO}"])
def test_no_reply_is_large_however_long_the_texts_are(server, letter):
    study = server.study(about=PLAIN, arms=[f"{letter * 4_000} {number}" for number in range(120)])
    tell(study, 400)
    for what in ("grid?open=0,1,2,3,4,5", "box?level=0&deferment=pile&count=100", "box?pulls=1&count=100"):
        assert get(server, what)
    tell(
        server.study(
            "other", arms=[f"{letter * 4_000} {number}" for number in range(120)], policy="chase", about=PLAIN
        ),
        400,
    )
    assert get(server, "grid", "other")["ladder"]
    assert get(server, "ladder", "other")["ladder"]
    assert len(get(server, "answer")["answer"]["text"]) <= 300
    assert len(json.dumps(get(server, "history"))) < LARGEST


def test_the_page_does_not_wait_for_a_long_journal(server, monkeypatch):
    """What raters see is said before the journal is added up, which takes seconds where it is long."""
    tell(server.study(arms=ARMS, about={"question": "Why?", **PLAIN}), 60)
    one = server.service.studies.get("captions")
    tally = type(one.tally)(one.study, server.service.records)
    monkeypatch.setattr(one, "tally", tally)
    monkeypatch.setattr(tally, "update", lambda: pytest.fail("the journal was read"))
    assert server.operator.get(f"{API}/studies/captions").json()["about"]["question"] == "Why?"
    assert get(server, "grid")["ladder"]
    assert get(server, "answer")["answer"]
