"""What runs of studies are made of, and how two of them are compared."""

import random
from dataclasses import replace

from boxthirding import open_study
from boxthirding.find import find_best
from boxthirding.study.events import Asked, Created, Given, Released

QUIET = {"progress": False}


def score(arm, example=0):
    """Return a noisy score that depends on the arm and the example alone."""
    return random.Random(f"{arm}/{example}").gauss(arm % 97 / 97, 0.3)


def story(url, name="main"):
    """Return all that happened in a study, but for who, when, and tickets that were handed out again."""
    with open_study(url, name) as study:
        events = [entry.event for entry in study.events() if not isinstance(entry.event, Given | Released)]
    plain = []
    for event in events:
        same = replace(event, at=0.0)
        same = replace(same, origin="") if isinstance(event, Created) else same
        plain.append(replace(same, holder="") if isinstance(event, Asked) else same)
    return plain


def story_of(arms, **options):
    """Return all that happens in an undisturbed run."""
    find_best(arms, score, **options)
    return story(options["study"])
