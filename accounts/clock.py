"""The present time, by the one clock that all processes share.

If several machines use one PostgreSQL, this is the database's clock: a machine with a wrong clock writes and reads the
same moments as the others. SQLite runs on one machine, whose clock is used.
"""

import math
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.db.utils import Error
from django.utils import timezone

ASK_EVERY = 10.0
"""Seconds after which the database is asked again. It is asked at once if this machine's clock has stepped, or if there
is a new connection."""

STEP = 0.2
"""Seconds by which the clock may drift from the monotonic one before it counts as stepped."""

SAME = timedelta(seconds=0.25)
"""Seconds. A smaller difference can come from the network as well as from the clocks."""

_NONE = timedelta(0)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """`ahead` is how far the database's clock is ahead of ours. `asked_at` and `stepped` are in seconds."""

    ahead: timedelta
    asked_at: float
    stepped: float

    def holds(self, monotonic: float, stepped: float) -> bool:
        return 0 <= monotonic - self.asked_at < ASK_EVERY and abs(stepped - self.stepped) < STEP


_lock = threading.Lock()
_known: dict[str, _Comparison] = {}


def now() -> datetime:
    """Returns the present time. Costs a query every `ASK_EVERY` seconds in each process, and none on SQLite."""
    if connection.vendor != "postgresql":
        return timezone.now()
    monotonic = time.monotonic()
    stepped = time.time() - monotonic
    known = _known.get(connection.alias)
    if known is None or not known.holds(monotonic, stepped):
        known = _compare(known, monotonic, stepped)
    return timezone.now() + known.ahead


def ask_again(alias: str) -> None:
    """Asks the database at the next look: a new connection may lead to another server, whose clock differs.

    Otherwise this process would, for as long as `ASK_EVERY`, claim projects until moments that are over for others.
    """
    with _lock:
        if known := _known.get(alias):
            _known[alias] = replace(known, asked_at=-math.inf)


def _compare(known: _Comparison | None, monotonic: float, stepped: float) -> _Comparison:
    """Asks the database. If it does not answer, the last difference is kept; a later query reports the fault.

    A slow answer tells little, because it may be old: the last difference is kept as far as the answer allows it.
    """
    try:
        connection.ensure_connection()
        asked_at = time.monotonic()
        at = _ask()
    except Error:
        return known or _Comparison(_NONE, monotonic, stepped)
    most = at - datetime.fromtimestamp(asked_at + stepped, UTC)
    least = at - datetime.fromtimestamp(time.monotonic() + stepped, UTC)
    expected = known.ahead + timedelta(seconds=known.stepped - stepped) if known else _NONE
    ahead = min(max(expected, least), most)
    found = _Comparison(ahead if abs(ahead) > SAME else _NONE, monotonic, stepped)
    with _lock:
        _known[connection.alias] = found
    return found


def _ask() -> datetime:
    """Returns the database's clock, not the transaction's, which stands still."""
    # psycopg's own cursor, because this query belongs to no request that counts or times its queries.
    with connection.wrap_database_errors, connection.connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
    return at
