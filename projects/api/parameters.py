"""What the API reads from queries and headers: the description and the reader of each parameter."""

from datetime import UTC, datetime
from typing import NoReturn

from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

MAX_WAIT = 30
MAX_TAIL = 10_000
WAIT = OpenApiParameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": MAX_WAIT},
    description="Hold the answer until the status is settled, at most this many seconds. Every request is answered "
    "within 30 seconds, the command itself included, so that the longest wait ends some 3 seconds before that.",
)
RESTART = OpenApiParameter(
    "restart", {"type": "boolean", "default": False}, description="Restart the agent, so that the change applies now."
)
TAIL = OpenApiParameter(
    "tail", {"type": "integer", "minimum": 0, "maximum": MAX_TAIL}, description="Only the last lines."
)
SINCE = OpenApiParameter("since", {"type": "string", "format": "date-time"}, description="Only lines from then on.")
FOLLOW = OpenApiParameter(
    "follow", {"type": "boolean", "default": False}, description="Go on as server-sent events until the agent ends."
)
RUN = OpenApiParameter(
    "run",
    {"type": "integer", "minimum": 1},
    description="An earlier run by its number (see `/runs`); without it the current one.",
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    location=OpenApiParameter.HEADER,
    description="A retry with the same key and body gets the first answer, for 24 hours.",
)


def read_wait(request: Request) -> int:
    raw = request.query_params.get("wait", "0")
    if not _is_number(raw, up_to=MAX_WAIT):
        refuse_parameter("wait", f"Set wait to a whole number of seconds from 0 to {MAX_WAIT}.")
    return int(raw)


def read_flag(request: Request, name: str) -> bool:
    raw = request.query_params.get(name, "false")
    if raw not in {"true", "false"}:
        refuse_parameter(name, f"Set {name} to true or false.")
    return raw == "true"


def read_tail(request: Request) -> int | None:
    raw = request.query_params.get("tail")
    if raw is None:
        return None
    if not _is_number(raw, up_to=MAX_TAIL):
        refuse_parameter("tail", f"Set tail to a number of lines from 0 to {MAX_TAIL}.")
    return int(raw)


def read_run_number(request: Request) -> int | None:
    raw = request.query_params.get("run")
    if raw is None:
        return None
    if not _is_number(raw, up_to=10**9) or int(raw) == 0:
        refuse_parameter("run", "Set run to the number of a run, such as 3.")
    return int(raw)


def read_since(request: Request) -> datetime | None:
    return read_moment(request, "since")


def read_moment(request: Request, name: str) -> datetime | None:
    """In UTC, also where it was sent with another offset."""
    raw = request.query_params.get(name)
    if raw is None:
        return None
    try:
        moment = parse_datetime(raw)
        utc = moment and (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):  # the first and the last day of the calendar are others elsewhere
        utc = None
    if utc is None:
        refuse_parameter(name, f"Set {name} to a time such as 2026-01-31T12:00:00Z.")
    return utc


def read_idempotency_key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not (1 <= len(key) <= 255 and key.isascii() and key.isprintable()):
        refuse_parameter("Idempotency-Key", "Send 1 to 255 printable ASCII characters as the Idempotency-Key.")
    return key


def _is_number(raw: str, *, up_to: int) -> bool:
    """Whether the text is a plain decimal number. `int()` accepts more than that, and any number of digits."""
    return raw.isascii() and raw.isdecimal() and len(raw) < 10 and int(raw) <= up_to


def refuse_parameter(field: str, message: str) -> NoReturn:
    """Raises the 400 that names this parameter."""
    raise serializers.ValidationError({field: [serializers.ErrorDetail(message, code="invalid")]})
