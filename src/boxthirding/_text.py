"""Text on a screen: what a terminal would obey, or cannot show, becomes an escape; numbers as people write them.

Labels may be anything, such as the names of files, which need not be UTF-8. What is stored is the label itself; every
place that shows one calls `visible`.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from os.path import commonprefix
from typing import Final

_ALIKE = 0.6  # of 1, from which texts are alike
_SEEN: Final = 4  # letters that are shown of a text at least, at each place where it differs from others

# Control characters, what turns the direction of writing, ends of lines and paragraphs, and halves of characters, which
# is how Python keeps the bytes of a file name that are not UTF-8.
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: object) -> str:
    r"""Return a text, such as a label, as it can be shown on a line of any terminal.

    >>> print(visible("caf\udce9\x1b[31m\r\n"), visible("naïve 🐢"), visible(7))
    caf\udce9\x1b[31m\r\n naïve 🐢 7
    """
    shown = str(text)
    return shown if shown.isprintable() else _UNSEEN.sub(_escape, shown)


def in_one_line(text: object) -> str:
    r"""Return a message in one line, as it can be shown.

    >>> print(in_one_line("one\ntwo\a"))
    one two\x07
    """
    return " ".join(map(visible, str(text).splitlines()))


def cut(text: str, longest: int, dots: str = "…") -> str:
    """Return a text cut to at most `longest` letters.

    >>> cut("a long story", 7), cut("short", 7)
    ('a long…', 'short')
    """
    return text if len(text) <= longest else f"{text[: longest - len(dots)].rstrip()}{dots}"


def apart(texts: Iterable[str], longest: int, dots: str = "…") -> dict[str, str]:
    """Return texts that are shown together, each in at most `longest` letters.

    Long ones that begin alike are shown from where they differ, so that different texts stay different as far as there
    is room.

    >>> prompts = ["You are a helpful assistant. Be brief.", "You are a helpful assistant. Be polite."]
    >>> [*apart(prompts, 20).values()], [*apart(prompts[:1], 20).values()]
    (['…brief.', '…polite.'], ['You are a…Be brief.'])
    >>> [*apart([70 * "x", 71 * "x"], 20).values()]
    ['…xxxx', '…xxxxx']
    """
    forks: dict[str, list[int]] = {text: [] for text in sorted({*texts})}  # letters that it shares with some others
    groups = [[*forks]]
    while groups:
        group = groups.pop()
        if len(group) > 1:
            fork = len(commonprefix([group[0], group[-1]]))  # noqa: RUF071  # letter by letter is meant
            place = fork if len(group[0]) > fork else fork - _SEEN  # the end of one that others go on from is seen too
            for text in group:
                forks[text].append(max([place, *forks[text][-1:]]))
            groups += [[*same] for _, same in itertools.groupby(group, key=lambda text: text[fork : fork + 1])]
    return {text: _around(text, forks[text], longest, dots) for text in forks}


def _around(text: str, forks: Sequence[int], longest: int, dots: str) -> str:
    """Return a text with what stands at some places of it."""
    room = longest - len(dots)
    if len(text) <= longest:
        return text
    if not forks:  # nothing to be told from: both ends
        return f"{text[: room - room // 2].rstrip()}{dots}{text[len(text) - room // 2 :]}"
    if forks[-1] < room:
        return cut(text, longest, dots)
    most = max(1, room // (len(dots) + _SEEN))
    forks = forks if len(forks) <= most else [*forks[: most - 1], forks[-1]]
    each = room // len(forks) - len(dots)
    shown, end = "", 0
    for fork in forks:
        if fork >= end + each:
            start = _beginning(text, fork, each // 2)
            shown, end = f"{shown}{dots}", start
        if fork >= end:
            shown, end = shown + text[end : end + each], end + each
    return cut(shown + text[end:], longest, dots)


def _beginning(text: str, place: int, most: int) -> int:
    """Return where the word at a place of a text begins, or at least the number, if that is near."""
    before = text[max(0, place - most) : place]
    word = re.search(r"\w*$", before)
    if word is None or word.start() == 0:
        word = re.search(r"\d*$", before)
    return place - (0 if word is None else len(word[0]))


def did_you_mean(word: str, words: Iterable[object]) -> str:
    """Return a question with the closest match of a word, or an empty text.

    >>> did_you_mean("comound 7", ["compound 7", "compound 8", 7])
    "did you mean 'compound 7'?"
    >>> did_you_mean("x", ["compound 7"])
    ''
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only needed for errors

    close = get_close_matches(word, [text for text in words if isinstance(text, str)], n=1, cutoff=_ALIKE)
    return f"did you mean {close[0]!r}?" if close else ""


def in_ascii(text: object) -> str:
    r"""Return a text in ASCII, with other characters escaped.

    It is the same for a text and for what was made of it on its way through `visible`, or through a file whose encoding
    lacks some of its characters.

    >>> print(in_ascii("café \udce9"), in_ascii(r"caf\xe9 \udce9"))
    caf\xe9 \udce9 caf\xe9 \udce9
    """
    return visible(text).encode("ascii", "backslashreplace").decode("ascii")


def as_date(at: float) -> datetime:
    """Return seconds since 1970 as a time in UTC; the first or the last one there is, for what lies beyond.

    >>> as_date(-1.0).year, as_date(1e300).year
    (1970, 9999)
    """
    return datetime.fromtimestamp(min(max(at, 0.0), _LATEST), UTC)


def format_time(at: float) -> str:
    """Return seconds since 1970 as a table has them.

    >>> format_time(1763234091.25)
    '2025-11-15T19:14:51.250+00:00'
    """
    return as_date(at).isoformat(timespec="milliseconds")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where that is due.

    >>> counted(1, "arm"), counted(2_000, "arm")
    ('1 arm', '2,000 arms')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sentence(text: object) -> str:
    """Return a clause as a sentence of its own.

    >>> sentence("all 3 arms are in the race")
    'All 3 arms are in the race.'
    """
    words = str(text)
    return f"{words[:1].upper()}{words[1:]}."


def writer(values: Iterable[float | None]) -> Callable[[float], str]:
    """Return what writes numbers that are shown together, so that they can be told apart.

    A number has four digits, or more where that takes more: three in four of the gaps are seen. None is no number.

    >>> [*map(writer([10_000.95, 10_000.88, 10_001.02]), [10_000.95, 10_000.88, 10_001.02])]
    ['10,000.95', '10,000.88', '10,001.02']
    >>> [*map(writer([1.0447, 0.9445, 0.98703]), [1.0447, 0.9445, 0.98703])]
    ['1.045', '0.9445', '0.987']
    """
    decimals = _decimals(sorted({value for value in values if value is not None and math.isfinite(value)}))

    def write(value: float) -> str:
        if value == 0 or not math.isfinite(value):
            return f"{value:g}"
        before = 1 + int(f"{value:.{_FEWEST - 1}e}".partition("e")[2])  # digits before the point; 0 for 0.5
        if max(_FEWEST, before) < before + decimals <= _MOST:
            return f"{value:,.{decimals}f}"
        return f"{value:,.{max(_FEWEST, before if before <= _LONGEST else 0)}g}"

    return write


def written(value: float) -> str:
    """Return a number that stands alone.

    >>> written(1.04471), written(1_234_567.8), written(0.00025), written(9_999.96)
    ('1.045', '1,234,568', '0.00025', '10,000')
    """
    return writer([value])(value)


def _decimals(values: list[float]) -> int:
    """Return how many digits behind the point tell sorted numbers apart, but for the quarter that lie closest."""
    gaps = sorted(above - below for below, above in itertools.pairwise(values))
    gaps = [gap for gap in gaps if gap > _EQUAL * max(map(abs, values))]
    return math.ceil(-math.log10(gaps[(len(gaps) - 1) // 4])) if gaps else 0


_LATEST: Final = 253402300799  # seconds: the end of the year 9999
_FEWEST: Final = 4  # digits of a number
_MOST: Final = 15  # digits that a float can have
_LONGEST: Final = 9  # digits before the point, beyond which there may be an exponent
_EQUAL: Final = 1e-12  # numbers that differ by less, as a share of the largest, are the same


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
