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
    stepping,
    stopping,
    telegram_answering,
)

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
    "mail/4xx": Fault(mail_refused),
    **{
        f"clock/{by.total_seconds():+.0f} s": Fault(stepping(by), 10.0)
        for by in (timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-1), timedelta(days=1))
    },
}
"""`process/fault`. Those of the clock need an installation with libfaketime."""


ELSEWHERE = {
    "mail/wrong answers": "tests/accounts/outbox has seven faults at seven steps of the conversation",
}
"""Cells that are not tried here, and why."""


def draw(number: int, chance: random.Random) -> list[str]:
    """Some faults by chance, none of which takes minutes, as a mail does that is kept back, or another installation."""
    short = [name for name in FAULTS if FAULTS[name].lasts <= 30 and not name.startswith(("clock/", "mail/"))]
    return chance.sample(short, number)
