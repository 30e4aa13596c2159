"""Events in the API: their ids, their pages, and the position of a reader.

An event's number would reveal how much happens on the whole installation. Its id is therefore the number encrypted as
one block: a UUID like all ids, which stays the same as long as BERTH_SECRET_KEY does.
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

from accounts.api.ids import read_uuid
from accounts.api.parameters import Parameter, ParameterError
from projects.api.parameters import moment, number, refuse_parameter
from projects.models import Event

MOST = 200
"""The maximum number of events on a page, and in a response without a limit."""

_BLOCK, _NUMBER = 16, 8
_SALT = "projects.api.event_pages"
"""The ids of events depend on it, so it must not change, even if this module moves."""
_NONE = "There is no such event. Begin again without a cursor."
"""The message, also for another user's event."""


def show_id(number_of_event: int) -> UUID:
    block = bytes(_BLOCK - _NUMBER) + number_of_event.to_bytes(_NUMBER)
    encryptor = _cipher(settings.SECRET_KEY).encryptor()
    return UUID(bytes=encryptor.update(block) + encryptor.finalize())


def read_event_id(text: str) -> int:
    """Returns the number of the event with this id. Raises `ParameterError` if it is not the id of an event."""
    shown = read_uuid(text)
    if shown is None:
        raise ParameterError(_NONE)
    decryptor = _cipher(settings.SECRET_KEY).decryptor()
    block = decryptor.update(shown.bytes) + decryptor.finalize()
    if any(block[:-_NUMBER]) or block[-_NUMBER] > 0x7F:
        raise ParameterError(_NONE)
    return int.from_bytes(block[-_NUMBER:])


@lru_cache(maxsize=1)
def _cipher(secret: str) -> Cipher[CBC]:
    """Returns a cipher for single blocks, so that nothing is chained and a number always has the same id."""
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
    """Returns the newest events, or those older than the cursor's event, and whether there are more.

    The cursor's event may be older than `since`, which moves while a client pages. Raises a 400 that names the cursor
    if its event is not one of these or no longer exists.
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
    """Returns the `Link` header to the next page, if there is one."""
    if not more:
        return {}
    address = replace_query_param(request.build_absolute_uri(), "cursor", str(show_id(events[-1].pk)))
    return {"Link": f'<{address}>; rel="next"'}
