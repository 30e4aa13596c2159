"""The faults of each process, and how long each lasts."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from tests.chaos.matrix.breaking import (
    Breaking,
    database_full,
    database_killed,
    database_stopped,
    engine_answering,
    engine_full,
    engine_killed,
    engine_stopped,
    killing,
    mail_refused,
    provider_answering,
    relay,
    serve_killed,
    service_full,
    stepping,
    stopping,
    telegram_answering,
)
from tests.chaos.matrix.breaking_redis import redis_killed, redis_stopped
from tests.chaos.matrix.redis import find_redis

STOPS = (5.0, 30.0, 120.0)
"""Seconds for which a process is stopped."""


@dataclass(frozen=True)
class Fault:
    """`lasts` is in seconds, at least. `mutes`: while it lasts, the server itself may give no answer."""

    breaking: Breaking
    lasts: float = 3.0
    mutes: bool = False


def _of_a_server(name: str) -> dict[str, Fault]:
    """Of one behind a relay."""
    return {
        f"{name}/kill": Fault(relay(name, "refuse")),
        **{f"{name}/stop {seconds:.0f} s": Fault(relay(name, "hang"), seconds) for seconds in STOPS},
        f"{name}/drip": Fault(relay(name, "drip")),
        f"{name}/half answers": Fault(relay(name, "half")),
    }


def _of_a_process(name: str, *, mutes: bool) -> dict[str, Fault]:
    return {
        f"{name}/kill": Fault(killing(name), mutes=mutes),
        **{f"{name}/stop {seconds:.0f} s": Fault(stopping(name), seconds, mutes) for seconds in STOPS},
    }


FAULTS: Mapping[str, Fault] = {
    **_of_a_process("web worker", mutes=True),
    **_of_a_process("watcher", mutes=False),
    **_of_a_process("serve", mutes=False),
    "serve/kill": Fault(serve_killed, mutes=True),
    "web worker/disk full": Fault(service_full),
    "database/kill": Fault(database_killed),
    **{f"database/stop {seconds:.0f} s": Fault(database_stopped, seconds) for seconds in STOPS},
    "database/hang after connect": Fault(relay("database", "hang"), 10.0),
    "database/drip": Fault(relay("database", "drip"), 10.0),
    "database/half answers": Fault(relay("database", "half")),
    "database/disk full": Fault(database_full),
    "engine/kill": Fault(engine_killed),
    **{f"engine/stop {seconds:.0f} s": Fault(engine_stopped, seconds) for seconds in STOPS},
    "engine/hang after connect": Fault(engine_answering("hang"), 10.0),
    "engine/drip": Fault(engine_answering("drip"), 10.0),
    "engine/half answers": Fault(engine_answering("hang in mid-body"), 10.0),
    "engine/lost answers": Fault(engine_answering("lost")),
    "engine/5xx": Fault(engine_answering("500")),
    "engine/wrong JSON": Fault(engine_answering("bad json")),
    "engine/disk full": Fault(engine_full),
    **_of_a_server("telegram"),
    "telegram/5xx": Fault(telegram_answering("break_down")),
    "telegram/wrong JSON": Fault(telegram_answering("garbage")),
    **_of_a_server("provider"),
    "provider/5xx": Fault(provider_answering("break_down")),
    "provider/wrong JSON": Fault(provider_answering("garbage")),
    **_of_a_server("mail"),
    **_of_a_server("redis"),
    "redis/kill": Fault(redis_killed),
    **{f"redis/stop {seconds:.0f} s": Fault(redis_stopped, seconds) for seconds in STOPS},
    "redis/hang after connect": Fault(relay("redis", "hang"), 10.0),
    "redis/wrong answers": Fault(relay("redis", "garbage")),
    "mail/4xx": Fault(mail_refused),
    **{
        f"clock/{by.total_seconds():+.0f} s": Fault(stepping(by), 10.0)
        for by in (timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-1), timedelta(days=1))
    },
}
"""`process/fault`. Those of the clock need an installation with libfaketime, and those of Redis one that uses it."""


ELSEWHERE = {
    "mail/wrong answers": "tests/accounts/outbox has seven faults at seven steps of the conversation",
}
"""Cells that are not tried here, and why."""


def draw(number: int, chance: random.Random) -> list[str]:
    """Some faults by chance, all of one installation: of Redis, or of all else in its proportion.

    None of them takes minutes, as a mail does that is kept back.
    """
    short = [name for name in FAULTS if FAULTS[name].lasts <= 30 and not name.startswith(("clock/", "mail/"))]
    of_redis = [name for name in short if name.startswith("redis/")] if find_redis() else []
    others = [name for name in short if not name.startswith("redis/")]
    return chance.sample(chance.choices([of_redis, others], [len(of_redis), len(others)])[0], number)
