"""L'Ecuyer's MRG32k3a (1999) from its two recurrences, in integers of any size."""

from collections import deque

M1 = 4294967087
M2 = 4294944443


class Stream:
    """Two recurrences of order three; their difference modulo the first modulus is the output."""

    def __init__(self, state=(12345,) * 6):
        """Start from six integers, the oldest value of each recurrence first."""
        numbers = [int(number) for number in state]
        self.x, self.y = deque(numbers[:3], maxlen=3), deque(numbers[3:], maxlen=3)

    def integer(self):
        """Uniform on 1 … M1."""
        self.x.append((1403580 * self.x[1] - 810728 * self.x[0]) % M1)
        self.y.append((527612 * self.y[2] - 1370589 * self.y[0]) % M2)
        return (self.x[2] - self.y[2]) % M1 or M1

    def uniform(self):
        """Uniform on (0, 1), as published."""
        return self.integer() / (M1 + 1)

    def below(self, n):
        """Uniform on 0 … n - 1; exact, so good for n up to 2**16, where one integer is enough."""
        return (self.integer() - 1) * n // M1

    def shuffle(self, items):
        """Fisher and Yates, from the last item down."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
