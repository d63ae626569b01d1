"""Rules that play in rounds beside a naive reference: jobs in any number and order, arms that go and come."""

from jobs import Together


class RoundsTogether(Together):
    """Every answer must be the same; nobody is asked for twice in a round."""

    def ask(self):
        mine, theirs = self.live.ask(), self.reference.ask()
        assert mine == theirs
        if mine is None:
            assert self.open or not self.reference.playing  # the round is out, or there is none
            return
        job, arm, times = mine
        assert arm not in self.gone
        assert arm not in [entry[2] for entry in self.open]
        assert times >= 1
        self.seen = max(self.seen, arm + 1)
        self.open.append([job, job, arm, times])
