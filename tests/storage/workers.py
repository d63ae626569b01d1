"""A worker of a study, run as a program: evaluates tickets until the study has enough pulls."""

import random
import sys
import time

from boxthirding import AlreadyTold, open_study


def reward(label, pull):
    """Return what a pull gives, whoever carries it out."""
    return random.Random(1_000_003 * label + pull).gauss(label % 97 / 97, 0.5)


def main(url, holder, pulls, lease):
    """Work until there are so many pulls, and print how many were our own."""
    own, began = 0, time.perf_counter()
    with open_study(url, "shared", arms=5_000, seed=11, lease=float(lease), holder=holder) as study:
        while study.pulls < int(pulls):
            for ticket in study.ask():
                try:
                    study.tell(ticket, reward(ticket.label, ticket.pull))
                except AlreadyTold:  # the lease ran out, and another worker was faster
                    continue
                own += 1
        seconds = time.perf_counter() - began
    sys.stdout.write(f"{own} {seconds}")


if __name__ == "__main__":
    main(*sys.argv[1:])
