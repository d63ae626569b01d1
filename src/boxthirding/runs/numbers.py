"""Numbers as people and programs write them."""


def number(text: str) -> float:
    """Return the number that a text is; a ValueError if it is none.

    Python also reads `1_000`, which other programs do not take for a number: it is likelier to be a slip.

    >>> number(" 2.5 ")
    2.5
    """
    if "_" in text:
        raise ValueError(text)
    return float(text)
