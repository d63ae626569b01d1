"""BUCB: upper confidence bounds in the brackets of BSH, each with statistics of its own."""

import math
from collections import Counter, defaultdict


def deviation(n, d, sigma):
    """U(n, d)."""
    log = math.log(1 / d)
    inner = log + 3 * math.log(log) + 1.5 * math.log(max(1, math.log(math.e * n / 2)))
    return sigma * math.sqrt(2 * inner / n)


class Optimist:
    """What BUCB does in one bracket."""

    def __init__(self, sigma, delta, names, index, ties):
        self.sigma, self.delta, self.names = sigma, delta, names
        self.doubt = delta / (len(names) * index**2)
        self.luck = {name: ties.integer() for name in names}
        self.untried = list(names)
        self.asked, self.told, self.total = Counter(), Counter(), defaultdict(float)

    def ask(self):
        """An arm not yet pulled, else the largest mean + U; a pull in flight counts in n, not in the mean."""
        if self.untried:
            name = self.untried.pop(0)
        else:
            ready = [name for name in self.names if self.told[name]]
            if not ready:
                return None
            name = max(ready, key=lambda name: (self.upper(name), self.luck[name]))
        self.asked[name] += 1
        return name

    def upper(self, name):
        """The index."""
        return self.total[name] / self.told[name] + deviation(self.asked[name], self.delta, self.sigma)

    def lower(self, name):
        """What the recommendation goes by."""
        return self.total[name] / self.told[name] - deviation(self.told[name], self.doubt, self.sigma)

    def tell(self, name, times, total):
        """Take the rewards of some pulls."""
        self.told[name] += times
        self.total[name] += total

    def drop(self, name):
        """Nothing is left to do but for an arm not yet pulled."""
        self.untried = [other for other in self.untried if other != name]

    def offer(self):
        """(lower bound, luck, name) of the safest."""
        told = [name for name in self.names if self.told[name]]
        return max(((self.lower(name), self.luck[name], name) for name in told), default=None)
