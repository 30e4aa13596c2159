"""The parameters of the API's queries and headers: what each may be, and what to say where it is not."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts import clock
from accounts.api.parameters import Parameter, ParameterError

MAX_WAIT = 30
MAX_TAIL = 10_000

_AGO = re.compile(r"([0-9]{1,9}[smhdw])+", re.ASCII)
_PART = re.compile(r"([0-9]+)([smhdw])")
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOMENT = {"type": "string", "format": "date-time"}
MOMENT = {"anyOf": [_MOMENT, {"type": "string", "pattern": f"^{_AGO.pattern}$"}]}
"""A time, or how long ago: `5m`, `1h30m`, `7d`."""


def number(*, low: int = 0, high: int, otherwise: str) -> Callable[[str], int]:
    """Reads a plain decimal number. `int()` accepts more than that, and any number of digits."""

    def read(raw: str) -> int:
        if not (raw.isascii() and raw.isdecimal() and len(raw) < 10 and low <= int(raw) <= high):
            raise ParameterError(otherwise)
        return int(raw)

    return read


def choice(name: str, *options: str, description: str = "") -> Parameter[str]:
    """One of some words. The first is the default."""
    *others, last = options
    named = f"{', '.join(others)} or {last}" if others else last

    def read(raw: str) -> str:
        if raw not in options:
            raise ParameterError(f"Set {name} to {named}.")
        return raw

    schema = {"type": "string", "enum": list(options), "default": options[0]}
    return Parameter(name=name, schema=schema, read=read, default=options[0], description=description)


def words(name: str, options: Sequence[str], *, description: str) -> Parameter[tuple[str, ...]]:
    """Any of some words, with commas in between. None where nothing is sent."""

    def read(raw: str) -> tuple[str, ...]:
        chosen = tuple(raw.split(","))
        if not set(chosen) <= set(options):
            raise ParameterError(f"Set {name} to one or more of: {', '.join(options)}; with commas in between.")
        return chosen

    one = "|".join(options)
    schema = {"type": "string", "pattern": f"^({one})(,({one}))*$"}
    return Parameter(name=name, schema=schema, read=read, default=(), description=description, repeats=True)


def flag(name: str, *, description: str) -> Parameter[bool]:
    def read(raw: str) -> bool:
        if raw not in {"true", "false"}:
            raise ParameterError(f"Set {name} to true or false.")
        return raw == "true"

    schema = {"type": "boolean", "default": False}
    return Parameter(name=name, schema=schema, read=read, default=False, description=description)


def moment(name: str, *, description: str) -> Parameter[datetime | None]:
    """In UTC, also where it was sent with another offset."""

    def read(raw: str) -> datetime | None:
        try:
            return _read_ago(raw) if _AGO.fullmatch(raw) else _read_moment(raw)
        except (ValueError, OverflowError):  # the first and the last day of the calendar are others elsewhere
            raise ParameterError(
                f"Set {name} to a time such as 2026-01-31T12:00:00Z, or to how long ago, such as 5m, 2h or 7d."
            ) from None

    return Parameter(name=name, schema=MOMENT, read=read, default=None, description=description)


def _read_moment(raw: str) -> datetime:
    found = parse_datetime(raw)
    if found is None:
        raise ValueError
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _read_ago(raw: str) -> datetime:
    """Longer ago than anything is from the beginning on."""
    try:
        ago = sum((timedelta(**{_UNITS[unit]: int(count)}) for count, unit in _PART.findall(raw)), timedelta())
        return max(clock.now() - ago, _BEGINNING)
    except OverflowError:
        return _BEGINNING


def _read_idempotency_key(key: str) -> str:
    if not (1 <= len(key) <= 255 and key.isascii() and key.isprintable()):
        raise ParameterError("Send 1 to 255 printable ASCII characters as the Idempotency-Key.")
    return key


def refuse_parameter(field: str, message: str) -> NoReturn:
    """Raises the 400 that names this parameter: one that is well-formed, and does not go with the others."""
    raise serializers.ValidationError({field: [serializers.ErrorDetail(message, code="invalid")]})


WAIT = Parameter(
    name="wait",
    schema={"type": "integer", "minimum": 0, "maximum": MAX_WAIT},
    read=number(high=MAX_WAIT, otherwise=f"Set wait to a whole number of seconds from 0 to {MAX_WAIT}."),
    default=0,
    description="Hold the answer until the status is settled, at most this many seconds. Every request is answered "
    "within 30 seconds, the command itself included, so that the longest wait ends some 3 seconds before that.",
)
RESTART = flag("restart", description="Restart the agent, so that the change applies now.")
TAIL: Parameter[int | None] = Parameter(
    name="tail",
    schema={"type": "integer", "minimum": 0, "maximum": MAX_TAIL},
    read=number(high=MAX_TAIL, otherwise=f"Set tail to a number of lines from 0 to {MAX_TAIL}."),
    default=None,
    description="Only the last lines.",
)
SINCE = moment("since", description="Only lines from then on: a time, or how long ago (`5m`, `2h`, `7d`).")
FOLLOW = flag("follow", description="Go on as server-sent events until the agent ends.")
RUN: Parameter[int | None] = Parameter(
    name="run",
    schema={"type": "integer", "minimum": 1},
    read=number(low=1, high=10**9 - 1, otherwise="Set run to the number of a run, such as 3."),
    default=None,
    description="An earlier run by its number (see `/runs`); without it the current one.",
)
IDEMPOTENCY_KEY: Parameter[str | None] = Parameter(
    name="Idempotency-Key",
    schema={"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    location=OpenApiParameter.HEADER,
    read=_read_idempotency_key,
    default=None,
    description="A retry with the same key and body gets the first answer, with the status of now, its reason "
    "and the header `Idempotent-Replayed: true`, for 24 hours.",
)
REPLAYED = OpenApiParameter(
    "Idempotent-Replayed",
    {"type": "string", "enum": ["true"]},
    OpenApiParameter.HEADER,
    response=[200, 201],
    description="This is the answer to an earlier request with the same Idempotency-Key, with the status of now "
    "and its reason.",
)
