"""Reports unknown names in a request, and suggests the name that was probably meant.

No message quotes what was sent, because JSON can contain text that no answer can be encoded with, such as half a
surrogate pair.
"""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from rest_framework.exceptions import ErrorDetail

MOST_NAMED = 20
"""Number of unknown names that are reported. A body of 64 KiB can hold thousands."""

LONGEST = 64
"""Number of characters of a name that are reported and compared. The time for the comparison grows with its square."""

_ALIKE = 0.7
"""Similarity from 0 to 1, as difflib counts it. Four letters of which two have swapped places score 0.75."""

_NO_LETTER = re.compile(r"[\W_]+")


def describe_unknown_names(
    sent: Iterable[object], *, known: Collection[str], noun: str
) -> dict[str, list[ErrorDetail]]:
    """Returns an error with the code `unknown` for each name that is not known, such as “There is no such field”."""
    unknown = [str(name) for name in sent if name not in known][:MOST_NAMED]
    return {encodable(name): [ErrorDetail(_sentence(name, known, noun), code="unknown")] for name in unknown}


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that this one resembles, in another style (`telegram_token`) or with a typing error."""
    folded = {_fold(each): each for each in known}
    closest = get_close_matches(_fold(name[:LONGEST]), folded, n=1, cutoff=_ALIKE)
    return folded[closest[0]] if closest else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a sentence about an unknown name: a question and what to do, or only the full stop."""
    meant = suggest(name, known)
    return f": did you mean {meant}? Send it under that name." if meant else "."


def encodable(name: str) -> str:
    return name[:LONGEST].encode(errors="replace").decode()


def _sentence(name: str, known: Collection[str], noun: str) -> str:
    return f"There is no such {noun}{did_you_mean(name, known)}"


def _fold(name: str) -> str:
    return _NO_LETTER.sub("", name.casefold())
