"""Events on the wire: their ids, their pages, and where a reader goes on.

An event's number would tell everybody how much happens on the whole installation, so that its id is that number
encrypted into one block. It is a UUID like all ids, and stays the same as long as BERTH_SECRET_KEY does.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac
from rest_framework.utils.urls import replace_query_param

from accounts.api.parameters import Parameter, ParameterError
from projects.api.parameters import moment, number, refuse_parameter
from projects.models import Event

MOST = 200
"""Events of a page, and of an answer that no page was asked of."""

_BLOCK, _NUMBER = 16, 8
_SALT = "projects.api.event_pages"
"""The ids of events depend on it, so it stays as it is, also where this module moves."""
_NONE = "There is no such event. Begin again without a cursor."
"""Also of an event of somebody else."""


def show_id(number_of_event: int) -> UUID:
    block = bytes(_BLOCK - _NUMBER) + number_of_event.to_bytes(_NUMBER)
    encryptor = _cipher(settings.SECRET_KEY).encryptor()
    return UUID(bytes=encryptor.update(block) + encryptor.finalize())


def read_event_id(text: str) -> int:
    """Raises `ParameterError` for what is no id of an event."""
    try:
        shown = UUID(text)
    except ValueError:
        raise ParameterError(_NONE) from None
    decryptor = _cipher(settings.SECRET_KEY).decryptor()
    block = decryptor.update(shown.bytes) + decryptor.finalize()
    if any(block[:-_NUMBER]) or block[-_NUMBER] > 0x7F or str(shown) != text.lower():
        raise ParameterError(_NONE)
    return int.from_bytes(block[-_NUMBER:])


@lru_cache(maxsize=1)
def _cipher(secret: str) -> Cipher[CBC]:
    """Of one block each, so that nothing is chained and the same number always has the same id."""
    key = salted_hmac(_SALT, "ids of events", secret=secret, algorithm="sha256").digest()
    return Cipher(AES(key), CBC(bytes(_BLOCK)))


LIMIT = Parameter(
    name="limit",
    schema={"type": "integer", "minimum": 1, "maximum": MOST, "default": MOST},
    read=number(low=1, high=MOST, otherwise=f"Set limit to a whole number from 1 to {MOST}."),
    default=MOST,
    description="How many events a page holds.",
)
CURSOR: Parameter[int | None] = Parameter(
    name="cursor",
    schema={"type": "string", "format": "uuid"},
    read=read_event_id,
    default=None,
    description="The id of an event: the page begins with the next older one. The Link header has it, too.",
)
SINCE = moment("since", description="Only events from then on: a time, or how long ago (`5m`, `2h`, `7d`).")


def read_page(
    events: "QuerySet[Event]", *, limit: int, cursor: int | None, since: datetime | None = None
) -> tuple[Sequence[Event], bool]:
    """The newest events, or those that are older than the one of the cursor; and whether there are more.

    The event of the cursor may be older than `since`, which moves while somebody pages. Raises the 400 that names the
    cursor where its event is none of these, or is not kept any more.
    """
    if cursor is not None:
        at = events.filter(pk=cursor).values_list("at", flat=True).first()
        if at is None:
            refuse_parameter("cursor", _NONE)
        events = events.filter(Q(at__lt=at) | Q(at=at, pk__lt=cursor))
    if since is not None:
        events = events.filter(at__gte=since)
    found = list(events.order_by("-at", "-pk")[: limit + 1])
    return found[:limit], len(found) > limit


def link_to_next(request: Any, events: Sequence[Event], *, more: bool) -> dict[str, str]:
    """The `Link` header of a page."""
    if not more:
        return {}
    address = replace_query_param(request.build_absolute_uri(), "cursor", str(show_id(events[-1].pk)))
    return {"Link": f'<{address}>; rel="next"'}
