"""How much a user may ask of the API in a minute, counted for all workers together, and the headers that tell.

A claim on the shared count is a write, which a read should not cost. So a process claims reads twenty at a time and
spends them from memory: what has been claimed is never above the limit, hence what is spent is not either. What is left
unspent at the end of the minute is lost, at most twenty of each process; near the limit they are claimed one by one.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from threading import Lock

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from redis.exceptions import RedisError

from accounts.models import User
from accounts.throttling import counters

logger = logging.getLogger(__name__)

PERIOD = 60
BATCH = 20
_ONE_BY_ONE = 100
"""From this many left on there are no batches."""
_MANY_LEASES = 10_000
_STANDING = "berth.standing"


@dataclass(frozen=True, slots=True)
class RateLimitState:
    """Where a user stands after a request: `remaining` of `limit` requests, and `reset` seconds until all are back."""

    allowed: bool
    scope: str
    limit: int
    remaining: int
    reset: int


@dataclass(slots=True)
class _Lease:
    """What this process has claimed of a minute and not yet spent.

    Threads of one user take turns at it. None of them waits for a connection while it holds the lock: it has the one
    over which the user was authenticated.
    """

    window: int
    left: int
    permits: int = 0
    used_up: bool = False
    lock: Lock = field(default_factory=Lock)


class ReadBudget:
    """One for each process."""

    def __init__(self) -> None:
        self._leases: dict[tuple[str, str], _Lease] = {}
        self._lock = Lock()

    def spend(self, *, subject: str, scope: str, limit: int) -> RateLimitState:
        """Take one request out of the limit, if it has one left."""
        now = timezone.now().timestamp()
        lease = self._find(subject, scope, int(now // PERIOD), limit)
        with lease.lock:
            if not lease.permits and not lease.used_up:
                _claim(lease, subject, scope, limit)
            allowed = lease.permits > 0
            if allowed:
                lease.permits -= 1
            remaining = lease.left + lease.permits
        reset = max(1, ceil((lease.window + 1) * PERIOD - now))
        return RateLimitState(allowed, scope, limit, remaining, reset)

    def _find(self, subject: str, scope: str, window: int, limit: int) -> _Lease:
        with self._lock:
            lease = self._leases.get((subject, scope))
            if lease is None or lease.window < window:
                if len(self._leases) >= _MANY_LEASES:
                    self._leases = {key: kept for key, kept in self._leases.items() if kept.window >= window}
                lease = self._leases[subject, scope] = _Lease(window, left=limit)
            return lease


def _claim(lease: _Lease, subject: str, scope: str, limit: int) -> None:
    """Fill the lease, and learn how much is left for others, too."""
    counted = (
        _claim_in_cache(f"limit:{scope}:{subject}:{lease.window}", limit) if settings.BERTH_COUNT_IN_CACHE else None
    )
    claimed, spent = counted or _claim_in_database(lease, subject, scope, limit)
    lease.permits, lease.used_up, lease.left = claimed, not claimed, limit - spent


def _claim_in_database(lease: _Lease, subject: str, scope: str, limit: int) -> tuple[int, int]:
    """How many have been claimed, and how many are spent."""

    def claim(amount: int) -> int:
        claimed = counters.consume(subject=subject, scope=scope, window=lease.window, amount=amount, limit=limit)
        return amount if claimed else 0

    in_batches = scope == "reads" and lease.left > _ONE_BY_ONE
    claimed = (in_batches and claim(BATCH)) or claim(1)
    return claimed, counters.count_spent(subject=subject, scope=scope, window=lease.window)


def _claim_in_cache(key: str, limit: int) -> tuple[int, int] | None:
    """As in the database, but None where Redis is down. It adds atomically and cheaply: no need of batches."""
    try:
        cache.add(key, 0, timeout=2 * PERIOD)
        count = cache.incr(key)
    except RedisError:
        logger.warning("Redis does not answer; requests are counted in the database.")
        return None
    return (1 if count <= limit else 0), min(count, limit)


leases = ReadBudget()


def count_request(facts: dict[str, object], *, user: User, scope: str) -> RateLimitState | None:
    """Count a request of the user, and note in its META where they stand, for the headers. None without a limit."""
    limit = settings.BERTH_LIMITS.get(scope)
    if limit is None:
        return None
    standing = leases.spend(subject=user.pk.hex, scope=scope, limit=limit)
    facts[_STANDING] = standing
    return standing


class RateLimitHeadersMiddleware:
    """Every counted request is told, in the headers of draft-ietf-httpapi-ratelimit-headers, where its user stands."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        standing = request.META.get(_STANDING)
        if isinstance(standing, RateLimitState):
            response["RateLimit-Policy"] = f'"{standing.scope}";q={standing.limit};w={PERIOD}'
            response["RateLimit"] = f'"{standing.scope}";r={standing.remaining};t={standing.reset}'
        return response
