"""Write the golden journals: small studies, one for each policy and one with every kind of event.

    python tests/study/golden/write.py NAME …    # or nothing, for those that are not there

A journal that is there stays: it is what a released version wrote, and must open for ever. Write one when a policy, a
kind of event or a format is new.
"""

import json
import sys
from pathlib import Path
from unittest.mock import patch

from boxthirding.policies import POLICIES
from boxthirding.policies.spec import format_spec
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study

HERE = Path(__file__).parent
TOLD = {"budget": 40, "sigma": 0.5}
RATINGS = 20  # after which the rule wants one arm alone for a while


def reward(ticket):
    """Return what a pull gives."""
    return (37 * ticket.arm + 11 * ticket.pull) % 101 / 101


class Clock:
    """A clock that goes on by a quarter of a second each time it is read."""

    now = 1_000.0

    def __call__(self):
        self.now += 0.25
        return self.now


def opened(journal, holder="ann", **settings):
    """Open a study that depends on nothing outside."""
    with patch("os.urandom", lambda n: b"\x07" * n), patch("boxthirding.study.settings.package", lambda: "0.1.0"):
        return Study("golden", journal, Settings(**settings), holder=holder, clock=Clock())


def by_policy(spec):
    """Let two holders work with a policy."""
    study = opened(journal := MemoryJournal(), arms=7, policy=spec, seed=5)
    for _ in range(14):
        for ticket in [*study.ask(2), *study.ask(holder="bob")]:
            study.tell(ticket, reward(ticket))
    study.ask(2)
    return journal


def every_kind():
    """Let everything happen once."""
    arms = {"a": {"rate": 0.1}, "b": [1, None, True], "c": "c", "d": (1, 2)}
    settings = {"arms": arms, "policy": "b3", "seed": 3, "direction": "minimize", "patience": 2, "lease": 60.0}
    study = opened(journal := MemoryJournal(), **settings, details={"command": "score"}, known={"c": [0.25, 0.5]})
    one, two, three = study.ask(3)
    study.tell(one, reward(one), details={"seconds": 2.5})
    study.fail(two)
    study.tell(study.ask(holder="bob")[0], 0.5)
    study.release(three)
    study.ask(holder="eve", unseen=True)
    study.tell(three, 0.125, holder="ann")
    study.observe_all({"a": 0.75})
    study.add({"ż": {"n": 1}, "f": 2.5})
    study.correct(one, 0.375)
    study.exclude("bob")
    study.ask(2, holder="bob")
    study.include("bob")
    study.withdraw("f")
    study.pause()
    study.resume()
    with patch("boxthirding.study.decisions.package", lambda: "0.1.0"):
        study.use("chase")
    for ticket in study.ask(2):
        study.tell(ticket, reward(ticket))
    again = opened(journal, arms={**arms, "d": (1, 3)}, details={"command": "other"}, force=True)
    again.ask(2, unseen=True)
    again.finish()
    return journal


def with_examples():
    """Let examples run out."""
    study = opened(journal := MemoryJournal(), arms=range(3), policy="us", examples=3)
    study.observe(1, 0.5, pull=2)
    for _ in range(12):
        for ticket in study.ask():
            study.tell(ticket, reward(ticket))
    return journal


def from_an_iterator():
    """Draw arms from an iterator, of labels and of things."""
    study = opened(journal := MemoryJournal(), arms=iter(["a", {"x": 1.5}, (1, 2), "d"]), policy="b3")
    for _ in range(12):
        for ticket in study.ask():
            study.tell(ticket, reward(ticket))
    return journal


def for_raters():
    """Let raters rate who see no arm twice, until they are handed tickets that no job asked for."""
    study = opened(journal := MemoryJournal(), arms=6, policy="chase", seed=1)
    while study.pulls < RATINGS:
        for ticket in study.ask(holder="bob"):
            study.tell(ticket, reward(ticket))
    for _ in range(5):
        for rater in ("eve", "kim"):
            for ticket in study.ask(holder=rater, unseen=True):
                study.tell(ticket, reward(ticket), holder=rater)
    study.ask(9, holder="lee", unseen=True)
    return journal


def stories():
    """Return what is written, by name."""
    told = {name: {key: TOLD[key] for key in TOLD if key in kind.told} for name, kind in POLICIES.items()}
    policies = {f"policy-{name}": format_spec(kind(**told[name])) for name, kind in POLICIES.items()}
    return {
        "every-kind": every_kind,
        "examples": with_examples,
        "raters": for_raters,
        "iterator": from_an_iterator,
        **{name: lambda spec=spec: by_policy(spec) for name, spec in policies.items()},
    }


def answers(study):
    """Return what a study answers, and the tickets that it gives next."""
    best = [[row.label, row.mean, row.pulls] for row in study.top(5)]
    counts = [study.pulls, study.spent, study.open, study.status, study.direction]
    held = [[ticket.id, ticket.label, ticket.pull, repr(ticket.payload)] for ticket in study.held("ann")]
    tickets = [] if study.status == "finished" else study.ask(4, holder="zoe")
    coming = [[ticket.id, ticket.label, ticket.pull] for ticket in tickets]
    return {"top": best, "counts": counts, "policy": format_spec(study.policy), "held": held, "next": coming}


def main(names):
    """Write journals and their answers."""
    for name, story in stories().items():
        path = HERE / f"{name}.jsonl"
        if name in names or not (names or path.exists()):
            journal = story()
            path.write_text("".join(f"{text}\n" for text in journal.read(0, 9_999)), encoding="utf-8")
            told = answers(opened(journal))
            path.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
