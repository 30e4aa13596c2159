"""Characters that are invisible, or that change the direction of text."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
NEWER_EMOJI = range(0x1F000, 0x1FB00)
DRAWN_AS_NOTHING = (
    *"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0",
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0xE0100, 0xE01F0)),
)


def hidden() -> Iterator[str]:
    for number in range(0x110000):
        category = unicodedata.category(chr(number))
        if category in CATEGORIES and not (category == "Cn" and number in NEWER_EMOJI):
            yield chr(number)
    yield from DRAWN_AS_NOTHING


@cache
def sample() -> list[str]:
    """Returns all control and format characters, and of the others the ends of each range of neighbours.

    Finding them takes a second of processor time, so a process that only collects tests does not.
    """
    every = sorted(set(hidden()))
    ends = {each for pair in pairwise(every) if ord(pair[1]) - ord(pair[0]) > 1 for each in pair}
    return sorted(ends | {each for each in every if unicodedata.category(each) in CATEGORIES - {"Co", "Cn", "Cs"}})


BESIDE = ("a{}b", "{}", "a{}", "7{}8", "א{}ב", "{0}{0}")
