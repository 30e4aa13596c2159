"""Limits the requests of a user per minute, counted for all processes together, and adds headers with the state.

Each request needs a permit. Permits come from a count that all processes share. Adding to it is a write, which a read
should not cost, so permits for reads are taken in batches and granted from memory, which the processes of a web server
share. They never grant more than they have taken, and all together never take more than the limit. A single web server
grants the whole limit. With several on different machines, each may keep a part of a batch to the end of the minute,
unless Redis counts.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from django.conf import settings
from django.core.cache import cache
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse

from accounts.models import User
from accounts.throttling import counters
from accounts.throttling.shared_permits import SharedPermits

logger = logging.getLogger(__name__)

PERIOD = 60
BATCH = 20
LOCK_SECONDS = 4.0
"""How long a request waits for other requests of the same user that are asking the shared count."""

_META_KEY = "berth.rate_limit"


@dataclass(frozen=True, slots=True)
class RateLimitState:
    """The state after a request: `remaining` of `limit` requests, and `reset` seconds until all are available again."""

    allowed: bool
    scope: str
    limit: int
    remaining: int
    reset: int


@dataclass(slots=True)
class _Permits:
    """What this process knows about one user, scope and window: how many permits are left.

    The lock is held while the shared count is asked, so that threads of one user do not take a batch each. None of them
    waits for a database connection meanwhile, because each still has the one that authenticated the user.
    """

    window: int
    remaining: int
    lock: Lock = field(default_factory=Lock)


class RateLimiter:
    """Grants the requests that this process answers. `shared` are the permits that it shares with others."""

    def __init__(self, shared: SharedPermits | None = None) -> None:
        self._window = 0
        self._permits: dict[tuple[str, str], _Permits] = {}
        self._lock = Lock()
        self._shared = shared or SharedPermits()

    def acquire(self, *, subject: str, scope: str, limit: int) -> RateLimitState:
        """Uses up one of the subject's requests of this minute, if one is left.

        Raises `OperationalError` if the database keeps earlier requests of the subject waiting for too long.
        """
        permits = self._find(subject, scope, limit)
        with _holding(permits.lock):
            in_batches = scope == "reads"
            stock = self._shared.take(subject, permits.window) if in_batches else None
            if stock is not None:
                allowed, remaining = True, sum(stock)
            elif permits.remaining:
                allowed, remaining = self._ask(subject, scope, limit, permits, in_batches=in_batches)
            else:
                allowed, remaining = False, 0
        return RateLimitState(allowed, scope, limit, remaining, counters.seconds_until_end(permits.window, PERIOD))

    def _ask(self, subject: str, scope: str, limit: int, permits: _Permits, *, in_batches: bool) -> tuple[bool, int]:
        """Asks the shared count. Returns whether there was a permit, and how many are left.

        The last permits come one by one, so that nobody is refused while another process is about to add a batch.
        """
        stock = self._shared.open(subject, permits.window, limit=limit) if in_batches else None
        sizes = (BATCH, 1) if stock is not None and stock.remaining >= 2 * BATCH else (1,)
        taken, permits.remaining = _take(subject, scope, permits.window, limit, sizes)
        if stock is not None and taken:
            stock = self._shared.add(subject, permits.window, more=taken - 1, remaining=permits.remaining)
        return taken > 0, permits.remaining + (stock.available if stock else 0)

    def _find(self, subject: str, scope: str, limit: int) -> _Permits:
        with self._lock:
            window = counters.current_window(PERIOD)
            if window != self._window:
                self._window, self._permits = window, {}
            return self._permits.setdefault((subject, scope), _Permits(window, remaining=limit))


@contextmanager
def _holding(lock: Lock) -> Iterator[None]:
    if not lock.acquire(timeout=LOCK_SECONDS):
        raise OperationalError("Other requests of this user are waiting for the count of their requests.")
    try:
        yield
    finally:
        lock.release()


class _CountLostError(Exception):
    """Redis has lost the count just made, or the counter is not a number."""


def _take(subject: str, scope: str, window: int, limit: int, sizes: tuple[int, ...]) -> tuple[int, int]:
    """Takes permits from the shared count. Returns how many it got, and how many remain for all processes."""
    if settings.BERTH_COUNT_IN_CACHE:
        from redis.exceptions import RedisError  # noqa: PLC0415 - a tenth of the start-up time, only paid with Redis

        try:
            return _take_from_cache(subject, scope, window, limit)
        except (RedisError, _CountLostError):
            logger.warning("Redis does not answer; requests are counted in the database.")
    return _take_from_database(subject, scope, window, limit, sizes)


def _take_from_cache(subject: str, scope: str, window: int, limit: int) -> tuple[int, int]:
    """Always takes one permit: Redis counts so cheaply that there is no need for batches."""
    key = f"limit:{scope}:{subject}:{window}"
    cache.add(key, 0, timeout=2 * PERIOD)
    try:
        count = cache.incr(key)
    except ValueError as error:
        raise _CountLostError from error
    if not isinstance(count, int):
        raise _CountLostError
    return int(count <= limit), max(0, limit - count)


def _take_from_database(subject: str, scope: str, window: int, limit: int, sizes: tuple[int, ...]) -> tuple[int, int]:
    taken = (
        size
        for size in sizes
        if counters.consume(subject=subject, scope=scope, window=window, limit=limit, amount=size)
    )
    return next(taken, 0), limit - counters.count_spent(subject=subject, scope=scope, window=window)


rate_limiter = RateLimiter()


def count_request(meta: dict[str, object], *, user: User, scope: str) -> RateLimitState | None:
    """Counts a request of the user, and stores the state in its META for the headers. Returns None if there is no
    limit.

    Counts each request only once, even if called several times.
    """
    counted = meta.get(_META_KEY)
    if isinstance(counted, RateLimitState):
        return counted
    limit = settings.BERTH_LIMITS.get(scope)
    if limit is None:
        return None
    state = rate_limiter.acquire(subject=user.pk.hex, scope=scope, limit=limit)
    meta[_META_KEY] = state
    return state


def count_again(meta: dict[str, object], *, user: User, scope: str) -> RateLimitState | None:
    """Counts one more action of a request that performs several."""
    meta.pop(_META_KEY, None)
    return count_request(meta, user=user, scope=scope)


class RateLimitHeadersMiddleware:
    """Adds the headers of draft-ietf-httpapi-ratelimit-headers to the answer of every counted request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        state = request.META.get(_META_KEY)
        if isinstance(state, RateLimitState):
            response["RateLimit-Policy"] = f'"{state.scope}";q={state.limit};w={PERIOD}'
            response["RateLimit"] = f'"{state.scope}";r={state.remaining};t={state.reset}'
        return response
