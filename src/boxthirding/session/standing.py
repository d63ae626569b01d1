"""What can be said of a policy at play: who is best, who comes next, and why."""

import math

from boxthirding._checks import is_number, whole
from boxthirding.errors import InvalidInput
from boxthirding.session.play import Play
from boxthirding.session.protocol import Box, Lineage, Recommendation, Rival, Screening, Step
from boxthirding.theory import non_inclusion
from boxthirding.types import NONE, Label

_OUTCOMES = ("lifted", "shifted", "discarded")


class Standing(Play):
    """A play that can be asked for its answers at every moment."""

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""
        arm = self._best()
        return None if arm == NONE else self._report(arm)

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, the recommended one first."""
        whole("k", k, least=1)
        best = self._best()
        ranked = [arm for arm in self.policy.ranking(self._state) if arm != best and self._counts[arm]]
        return [self._report(arm) for arm in ([best] if best != NONE else [])[:k] + ranked[: k - 1]]

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, whom it met there, and where it stands now."""
        arm = self._labels.find(label)
        if arm is None:
            place = "withdrawn" if self._labels.is_gone(label) else "in the pool"
            return Lineage(label, None, 0, (), place)
        steps = []
        for meeting in self._record.meetings(arm):
            mine = [met.number for met in meeting.arms].index(arm)
            rivals = tuple(
                Rival(self._labels.label(met.number), self._sign * met.mean, met.pulls)
                for met in meeting.arms
                if met.number != arm
            )
            outcome = _OUTCOMES[mine] if rivals else "introduced"
            _, mean, pulls = meeting.arms[mine]
            steps.append(Step(meeting.at, outcome, meeting.level, meeting.deferment, self._sign * mean, pulls, rivals))
        count = self._counts[arm]
        place = "withdrawn" if arm in self._withdrawn else self._record.place(self._state, arm)
        overall = self._sign * self._totals[arm] / count + 0.0 if count else None
        return Lineage(label, overall, count, tuple(steps), place)

    def boxes(self) -> list[Box]:
        """Return the boxes and piles that hold an arm, from the lowest level up; none, if the policy has no boxes."""
        return [
            Box(
                level,
                deferment,
                tuple(
                    Rival(self._labels.label(arm.number), self._sign * arm.mean, arm.pulls)
                    for arm in self._record.contents(self._state, level, deferment, 0, count)
                ),
            )
            for level, deferment, count in self._record.sizes(self._state)
        ]

    def screening(self, share: float) -> Screening:
        """Return the chance, exact, that an arm of the best `share` of all is among those that could still be returned.

        The candidate set is a random one of its size, whatever the rewards; with an iterator the chance is that for
        infinitely many arms.
        """
        if not (is_number(share) and 0 < share <= 1):
            raise InvalidInput(f"share is {share!r}, but must lie in (0, 1]: 0.01 for the top 1 %")
        candidates = self._record.candidates(self._state)
        if candidates is None:
            candidates = sum(1 for arm, count in enumerate(self._counts) if count and arm not in self._withdrawn)
        if self._labels.open_ended:
            return Screening(1 - (1 - share) ** candidates, candidates, None, share)
        arms = self._labels.known - len(self._withdrawn)
        good = max(1, math.floor(share * arms + 1e-9)) if arms else 0
        chance = 1 - non_inclusion(arms, good, candidates) if arms else 0.0
        return Screening(chance, candidates, arms, share)

    def _best(self) -> int:
        arm = int(self.policy.rule.recommend(self._seen))
        if arm == NONE:  # no job has ended yet: an arm with a result, if there is one (S12)
            told = (i for i, count in enumerate(self._counts) if count and i not in self._withdrawn)
            return next(told, NONE)
        return arm

    def _report(self, arm: int) -> Recommendation:
        count = self._counts[arm]
        mean = self._sign * self._totals[arm] / count + 0.0  # never -0
        return Recommendation(self._labels.label(arm), mean, count, self._record.level(self._state, arm))
