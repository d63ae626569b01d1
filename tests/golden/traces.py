"""What a golden trace is made of: a policy, a few arms, and rewards that follow from label and pull alone."""

from pathlib import Path

from every_policy import EVERY

from boxthirding import parse_policy
from boxthirding.lab import Bernoulli, Gaussian, captions, simulate
from boxthirding.session import Session

FILE = Path(__file__).with_name("traces.json")

PULLS = {3: 120, 40: 300, 100_000: 300}
"""By number of arms: pulls of a live trace."""

SPECS = (
    *EVERY,
    *("b3:reuse=pool", "b3:reuse=topup", "b3:reuse=topup,effort=0.3"),
    "sh:growth=1.7,mode=paper,budget=300",
    "prose:sigma=estimated",
    *("klucb:subset=doubling", "lilucb:sigma=0.5,subset=doubling", "ebtc:subset=doubling", "ash:subset=doubling"),
)
"""Every policy, and variants that decide otherwise in places."""

FEW = ("sr", "ucbe")
"""Policies that pull every arm, and so need fewer arms than pulls."""

LIVE = tuple((spec, arms) for spec in SPECS for arms in PULLS if arms < 300 or not spec.startswith(FEW))


def reward(label, pull):
    """Return a reward that is the same in every run: noise of a third around a mean that follows from the label."""
    scrambled = (label * 2_654_435_761 + pull * 40_503 + (label ^ pull) * 97) % 4096 / 4096
    return (label * 37 % 101) / 101 + 0.6 * scrambled


def live(spec, arms, make=Session):
    """Return the labels in the order in which they are pulled, and (pulls, answer) whenever the answer changes."""
    session = make(arms, parse_policy(spec), seed=11)
    labels, answers = [], []
    while len(labels) < PULLS[arms] and (tickets := session.ask()):
        (ticket,) = tickets
        labels.append(ticket.label)
        session.tell(ticket, reward(ticket.label, ticket.pull))
        answer = session.recommend().label
        if not answers or answers[-1][1] != answer:
            answers.append([len(labels), answer])
    return {"pulled": labels, "answers": answers}


def simulated(spec, compiled=False):
    """Return what a policy recommends on the captions, replicate by replicate, at every tenth pull."""
    rows = []
    for model in (Gaussian(0.25), Bernoulli()):
        run = simulate(
            captions(200),
            model,
            parse_policy(spec),
            budget=300,
            checkpoints=range(10, 301, 10),
            replicates=3,
            seed=5,
            threads=1,
            compiled=compiled,
        )
        rows += run.recommended.tolist()
    return rows
