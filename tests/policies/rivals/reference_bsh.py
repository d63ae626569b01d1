"""Brackets of 2, 4, 8, … random arms that take turns, and what BSH does in each: halving with doubling budgets."""

import math


class Brackets:
    """What BSH and BUCB share. An arm has a name when it is drawn, and a number when it is first asked for."""

    def __init__(self, n_arms, ties, bracket):
        """`bracket(names, index, ties)` makes one."""
        self.n_arms, self.ties, self.bracket = n_arms, ties, bracket
        self.brackets, self.turn, self.t = [], 0, 0
        self.pool = []  # names that are not withdrawn
        self.drawn = 0
        self.numbers = {}  # name -> number
        self.first = None

    def unmet(self):
        """Names without a number."""
        return [name for name in self.pool if name not in self.numbers]

    def unnumbered(self):
        """How many arms have no number yet."""
        return self.n_arms - len(self.numbers)

    def draw(self, size):
        """Draw names without replacement: place after place is filled from those behind it and from the new ones."""
        for i in range(size):
            place = i + self.ties.below(self.live() - i)
            if place >= len(self.pool):
                place = len(self.pool)
                self.pool.append(self.drawn)
                self.drawn += 1
            self.pool[i], self.pool[place] = self.pool[place], self.pool[i]
        return self.pool[:size]

    def live(self):
        """How many arms there are, drawn or not."""
        return len(self.pool) + max(0, self.unnumbered() - len(self.unmet()))

    def ask(self):
        """Give (job, arm, 1), or None when no bracket can go on."""
        while len(self.unmet()) > max(0, self.unnumbered()):  # arms were withdrawn before anybody met them
            self.retire(self.unmet()[-1])
        if not any(bracket.names for bracket in self.brackets):
            self.brackets, self.turn = [], 0
        b = len(self.brackets) + 1
        full = self.brackets and len(self.brackets[-1].names) == self.live()
        if self.live() and not full and self.t + 1 >= (b - 1) * 2 ** (b - 1):
            self.brackets.append(self.bracket(self.draw(min(2**b, self.live())), b, self.ties))
        for _ in self.brackets:
            bracket = self.brackets[self.turn % len(self.brackets)]
            self.turn = self.turn % len(self.brackets) + 1
            name = bracket.ask()
            if name is not None:
                self.t += 1
                return (bracket, name), self.numbers.setdefault(name, len(self.numbers)), 1
        return None

    def tell(self, job, times, total):
        """Take the rewards of some pulls of a name in a bracket."""
        bracket, name = job
        self.first = self.numbers[name] if self.first is None else self.first
        bracket.tell(name, times, total)

    def drop(self, arm):
        """Withdraw an arm."""
        self.first = None if self.first == arm else self.first
        name = next(name for name, number in self.numbers.items() if number == arm)
        if name in self.pool:
            self.retire(name)

    def retire(self, name):
        """Take a name out of the pool and out of every bracket."""
        place = self.pool.index(name)
        self.pool[place] = self.pool[-1]
        self.pool.pop()
        for bracket in self.brackets:
            if name in bracket.names:
                bracket.names.remove(name)
                bracket.drop(name)

    def recommend(self):
        """The best of what the brackets offer; before they do, the first arm pulled."""
        offers = [bracket.offer() for bracket in self.brackets]
        best = max((offer for offer in offers if offer), default=None)
        return self.numbers[best[-1]] if best else self.first


class Halving:
    """Sequential Halving in one bracket, again and again with twice the budget."""

    def __init__(self, names, _index, ties):
        self.names, self.ties = names, ties
        self.budget = len(names) * max(1, math.ceil(math.log2(len(names))))
        self.kept = None
        self.begin_run()

    def begin_run(self):
        """All play."""
        self.rounds = max(1, math.ceil(math.log2(max(1, len(self.names)))))
        self.begin_round(list(self.names))

    def begin_round(self, players):
        """These play, each as often as its share of the round allows."""
        self.size, self.players = len(players), players
        self.each = max(1, self.budget // (max(1, len(players)) * self.rounds))
        self.queue = [name for name in players for _ in range(self.each)]
        self.due = dict.fromkeys(players, self.each)
        self.sums = dict.fromkeys(players, 0.0)

    def ask(self):
        """The next pull of the round, None while it waits for results."""
        return self.queue.pop(0) if self.queue else None

    def tell(self, name, times, total):
        """With the last result of the round, halve."""
        self.sums[name] += total
        self.due[name] -= times
        if not any(self.due.values()):
            self.end_round()

    def end_round(self):
        """Keep the better half by this round's means; of two or one, the winner."""
        ranked = self.players
        self.ties.shuffle(ranked)
        ranked.sort(key=self.sums.__getitem__, reverse=True)
        if self.size > 2 and ranked:
            self.begin_round(ranked[: (len(ranked) + 1) // 2])
            return
        if ranked:
            self.kept = self.sums[ranked[0]] / self.each, self.ties.integer(), ranked[0]
        self.budget *= 2
        self.begin_run()

    def drop(self, name):
        """One that is withdrawn counts as told."""
        self.kept = None if self.kept and self.kept[-1] == name else self.kept
        self.queue = [other for other in self.queue if other != name]
        if name in self.players:
            self.players.remove(name)
            if self.due.pop(name) and not any(self.due.values()):
                self.end_round()

    def offer(self):
        """(mean in its last round, luck, name) of the last run's winner."""
        return self.kept
