"""A clock that stands still in a minute of its own, and a limiter that is called many times."""

import time
from datetime import UTC, datetime

from accounts.throttling.rate_limits import RateLimiter

MINUTE = int(time.time()) // 60 * 60
"""The time at which the minute begins."""


class Clock:
    """Replaces `timezone.now`. `seconds` is the position within the minute."""

    def __init__(self) -> None:
        self.seconds = 10.0

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(MINUTE + self.seconds, UTC)


def count_allowed(
    subject: str, limit: int, *, scope: str = "reads", times: int, process: RateLimiter | None = None
) -> int:
    """Calls the limiter this many times. Returns how often it allowed the request."""
    process = process or RateLimiter()
    return sum(process.acquire(subject=subject, scope=scope, limit=limit).allowed for _ in range(times))
