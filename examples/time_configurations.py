"""Find the fastest of 2,268 zlib settings for compressing and sending small messages, in five seconds.

The timings are real and noisy, so every run of this program gives slightly different results.
"""

import itertools
import random
import time
import zlib

import boxthirding as b3

BYTES_PER_SECOND = 20_000_000  # of the network connection
SECONDS = 5.0

SETTINGS = {
    f"level={level} wbits={wbits} memory={memory} strategy={strategy}": (level, wbits, memory, strategy)
    for level, wbits, memory, strategy in itertools.product(range(1, 10), range(9, 16), range(1, 10), range(4))
}
DEFAULT = "level=6 wbits=15 memory=8 strategy=0"


def message(seed: int) -> bytes:
    """Return text that compresses about as well as a log file."""
    draw = random.Random(seed)
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(150)]
    return b" ".join(draw.choices(words, k=1_500))


MESSAGES = [message(seed) for seed in range(40)]


def seconds(setting: tuple[int, int, int, int], text: bytes) -> float:
    """Return how long it takes to compress a message and to send the result."""
    level, wbits, memory, strategy = setting
    begin = time.perf_counter()
    packer = zlib.compressobj(level, zlib.DEFLATED, wbits, memory, strategy)
    packed = packer.compress(text) + packer.flush()
    return time.perf_counter() - begin + len(packed) / BYTES_PER_SECOND


def main() -> None:
    """Search for five seconds, then measure the winner and zlib's default on all messages."""
    # Minimise, with a time limit. One worker, because parallel timings would disturb each other.
    # `examples` pairs the settings on the same messages, because some messages take longer than others. `repeat=True`:
    # timings of the same message are noisy, so a setting may get the same message again.
    messages = b3.Examples(MESSAGES, repeat=True)
    found = b3.find_best(SETTINGS, seconds, examples=messages, direction="minimize", seconds=SECONDS)
    print(found)
    for name in (found.label, DEFAULT):
        times = sorted(seconds(SETTINGS[name], text) for text in MESSAGES * 5)
        print(f"{name}: median {1e6 * times[len(times) // 2]:.0f} microseconds a message")


if __name__ == "__main__":
    main()
