"""Changes to a JSON value: each place in it, missing or with a wrong value."""

import copy
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]

MISSING = object()
WRONG: dict[str, Any] = {
    "missing": MISSING,
    "null": None,
    "an empty text": "",
    "a text": "berth",
    "a number": 7,
    "a negative number": -1,
    "a huge number": 10**30,
    "true": True,
    "an empty list": [],
    "a list of null": [None],
    "an empty object": {},
    "an object of null": {"x": None},
}


def places_of(value: Any, before: Place = ()) -> Iterator[Place]:
    """Returns every place in the value, itself included. The first element of a list stands for all."""
    yield before
    if isinstance(value, dict):
        for name, each in value.items():
            yield from places_of(each, (*before, name))
    elif isinstance(value, list) and value:
        yield from places_of(value[0], (*before, 0))


def value_at(value: Any, place: Place) -> Any:
    for name in place:
        value = value[name]
    return value


def changed(value: Any, place: Place, wrong: Any) -> Any:
    """Returns a copy with `wrong` in this place, or the value itself if it has no such place."""
    if not place:
        return None if wrong is MISSING else wrong
    made = copy.deepcopy(value)
    try:
        inner = value_at(made, place[:-1])
        inner[place[-1]]
    except (LookupError, TypeError):
        return value
    if wrong is MISSING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = wrong
    return made


UNIMPORTANT = {"Image", "Mounts"}
"""Fields of an inspection that do not affect the status: the image's id, and where the volumes are."""
NO_HEALTH_CHECK = {("State", "Health")}
"""Fields whose absence has a meaning."""
COLLECTIONS = {list, dict}


def kind_of(value: Any) -> type:
    """Null stands for an empty list here, as in Go."""
    return list if value is None else type(value)


def is_meant(answer: Any, place: Place, wrong: Any) -> bool:
    """Whether an engine may mean this in an answer about containers:
    the type is right, or an absent thing is left out."""
    if not place or place[0] in UNIMPORTANT or place in NO_HEALTH_CHECK:
        return True
    true = value_at(answer, place)
    if wrong is MISSING:
        return not isinstance(place[-1], str) or place[-2:-1] in {("Labels",), ("Networks",)}
    if kind_of(true) in COLLECTIONS and not true:
        return kind_of(wrong) in COLLECTIONS  # there is an entry that should not exist
    return kind_of(wrong) is kind_of(true) or (wrong is None and isinstance(true, dict | list))
