"""Names that nobody has declared, and which one was probably meant.

No message quotes what was sent: JSON can carry half a surrogate pair, for example, which no answer can be encoded with.
"""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from rest_framework.exceptions import ErrorDetail

MOST_NAMED = 20
"""Unknown names to tell; a body of 64 KiB can hold thousands."""

LONGEST = 64
"""Characters of a name that are told and compared: the time to compare grows with their square."""

_ALIKE = 0.7
"""From 0 to 1, as difflib counts it. A name of four letters of which two have changed places is at 0.75."""

_NO_LETTER = re.compile(r"[\W_]+")


def tell_unknown(sent: Iterable[object], *, known: Collection[str], noun: str) -> dict[str, list[ErrorDetail]]:
    """One error with the code `unknown` for each name that is not known, such as “There is no such field”."""
    unknown = [str(name) for name in sent if name not in known][:MOST_NAMED]
    return {encodable(name): [ErrorDetail(_sentence(name, known, noun), code="unknown")] for name in unknown}


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one is spelled like, in another style (`telegram_token`) or with a typing error."""
    folded = {_fold(each): each for each in known}
    closest = get_close_matches(_fold(name[:LONGEST]), folded, n=1, cutoff=_ALIKE)
    return folded[closest[0]] if closest else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """How a sentence about an unknown name goes on: a question and what to do, or nothing but the full stop."""
    meant = suggest(name, known)
    return f": did you mean {meant}? Send it under that name." if meant else "."


def encodable(name: str) -> str:
    return name[:LONGEST].encode(errors="replace").decode()


def _sentence(name: str, known: Collection[str], noun: str) -> str:
    return f"There is no such {noun}{did_you_mean(name, known)}"


def _fold(name: str) -> str:
    return _NO_LETTER.sub("", name.casefold())
