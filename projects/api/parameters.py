"""The parameters of the API's queries and headers: their valid values, and messages for others."""

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
MAX_RUN = 10**9 - 1

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
    """Returns a parameter with one of these words. The first is the default."""
    *others, last = options
    named = f"{', '.join(others)} or {last}" if others else last

    def read(raw: str) -> str:
        if raw not in options:
            raise ParameterError(f"Set {name} to {named}.")
        return raw

    schema = {"type": "string", "enum": list(options), "default": options[0]}
    return Parameter(name=name, schema=schema, read=read, default=options[0], description=description)


def words(name: str, options: Sequence[str], *, description: str) -> Parameter[tuple[str, ...]]:
    """Returns a parameter with any of these words, separated by commas. It is empty if nothing is sent."""

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
    """Returns a parameter with a time, converted to UTC."""

    def read(raw: str) -> datetime | None:
        try:
            return _read_ago(raw) if _AGO.fullmatch(raw) else _read_moment(raw)
        except (ValueError, OverflowError):  # a conversion to UTC may leave the calendar
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
    """Returns the moment so long ago, at the earliest the beginning of 1970."""
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
    """Raises a 400 that names this parameter, which is well-formed but not valid here."""
    raise serializers.ValidationError({field: [serializers.ErrorDetail(message, code="invalid")]})


WAIT = Parameter(
    name="wait",
    schema={"type": "integer", "minimum": 0, "maximum": MAX_WAIT},
    read=number(high=MAX_WAIT, otherwise=f"Set wait to a whole number of seconds from 0 to {MAX_WAIT}."),
    default=0,
    description="Delay the response until the status is settled, at most this many seconds. Every request is answered "
    "within 30 seconds, including the command itself, so the longest wait ends about 3 seconds before that.",
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
FOLLOW = flag("follow", description="Continue with new lines as server-sent events until the agent ends.")
RUN: Parameter[int | None] = Parameter(
    name="run",
    schema={"type": "integer", "minimum": 1, "maximum": MAX_RUN},
    read=number(low=1, high=MAX_RUN, otherwise="Set run to the number of a run, such as 3."),
    default=None,
    description="The number of an earlier run (see `/runs`). Without it, the current run.",
)
IDEMPOTENCY_KEY: Parameter[str | None] = Parameter(
    name="Idempotency-Key",
    schema={"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    location=OpenApiParameter.HEADER,
    read=_read_idempotency_key,
    default=None,
    description="For 24 hours, a retry with the same key and body gets the first response, with the present status and "
    "its reason and the header `Idempotent-Replayed: true`. Once its project is deleted, a retry is 404.",
)
REPLAYED = OpenApiParameter(
    "Idempotent-Replayed",
    {"type": "string", "enum": ["true"]},
    OpenApiParameter.HEADER,
    response=[200, 201],
    description="This is the response to an earlier request with the same Idempotency-Key, with the present status and "
    "its reason.",
)
