"""The faults of each process, and how long each lasts."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from tests.chaos.clock import LIBRARY
from tests.chaos.matrix import breaking_engine_parts as parts
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
from tests.chaos.matrix.breaking_clocks import engine_stepping
from tests.chaos.matrix.breaking_gateway import (
    engine_execs_hang,
    gateway_killed,
    gateway_stepping,
    gateway_stopped,
    gateway_volumes_removed,
    gateway_volumes_removed_and_killed,
)
from tests.chaos.matrix.breaking_keys import beside_other_keys
from tests.chaos.matrix.breaking_leader import beside_another
from tests.chaos.matrix.breaking_names import names
from tests.chaos.matrix.breaking_people import BY_PEOPLE
from tests.chaos.matrix.breaking_processes import find_group, without_processes
from tests.chaos.matrix.breaking_redis import redis_killed, redis_stopped
from tests.chaos.matrix.breaking_resources import (
    engine_without_inodes,
    service_read_only,
    service_without_inodes,
    without_descriptors,
    without_memory,
)
from tests.chaos.matrix.gateway_image import find_gateway_image
from tests.chaos.matrix.redis import find_redis

STEPS = (timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-1), timedelta(days=1))
STOPS = (5.0, 30.0, 120.0)
"""Seconds for which a process is stopped."""


@dataclass(frozen=True)
class Fault:
    """`lasts` is in seconds, at least. `mutes`: while it lasts, the server itself may give no answer. `kind`: of the
    installation that it needs (`tests.chaos.matrix.installation.new_installation`)."""

    breaking: Breaking
    lasts: float = 3.0
    mutes: bool = False
    kind: str = ""
    loses_deletions: bool = False
    """What is deleted meanwhile is on the engine again afterwards. It goes into quarantine, minutes later."""


def _of_a_server(name: str, kind: str = "") -> dict[str, Fault]:
    """Of one behind a relay."""
    return {
        f"{name}/kill": Fault(relay(name, "refuse"), kind=kind),
        **{f"{name}/stop {seconds:.0f} s": Fault(relay(name, "hang"), seconds, kind=kind) for seconds in STOPS},
        f"{name}/drip": Fault(relay(name, "drip"), kind=kind),
        f"{name}/half answers": Fault(relay(name, "half"), kind=kind),
    }


def _of_a_process(name: str, *, mutes: bool) -> dict[str, Fault]:
    return {
        f"{name}/kill": Fault(killing(name), mutes=mutes),
        **{f"{name}/stop {seconds:.0f} s": Fault(stopping(name), seconds, mutes) for seconds in STOPS},
    }


def _told(by: timedelta) -> str:
    return f"{by.total_seconds():+.0f} s"


FAULTS: Mapping[str, Fault] = {
    **_of_a_process("web worker", mutes=True),
    **_of_a_process("watcher", mutes=False),
    **_of_a_process("serve", mutes=False),
    "serve/kill": Fault(serve_killed, mutes=True),
    "web worker/disk full": Fault(service_full),
    "web worker/no inodes": Fault(service_without_inodes),
    "web worker/read-only": Fault(service_read_only, 10.0),
    **{f"{process}/no descriptors": Fault(without_descriptors(process), 10.0) for process in ("watcher", "serve")},
    **{f"{process}/no memory": Fault(without_memory(process), 10.0) for process in ("watcher", "serve")},
    **{
        f"web worker/no descriptors for {each:.0f} s": Fault(without_descriptors("web worker"), each)
        for each in (4.0, 20.0)
    },
    **{f"web worker/no memory for {each:.0f} s": Fault(without_memory("web worker"), each) for each in (4.0, 20.0)},
    **{
        f"{process}/no processes": Fault(without_processes(process), 10.0, kind="processes")
        for process in ("web worker", "watcher")
    },
    "serve/no processes, watcher killed": Fault(
        without_processes("serve", killed=("watcher",)), 10.0, kind="processes"
    ),
    "serve/no processes, web workers killed": Fault(
        without_processes("web server", killed=("web worker",)), 10.0, mutes=True, kind="processes"
    ),
    "serve/one process more, web workers killed": Fault(
        without_processes("web server", killed=("web worker",), room=1), 10.0, mutes=True, kind="processes"
    ),
    "serve/another with other keys": Fault(beside_other_keys, 10.0),
    "database/kill": Fault(database_killed),
    "database/connections ended": Fault(parts.connections_ended, 10.0),
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
    "engine/no inodes": Fault(engine_without_inodes),
    "engine/containerd killed": Fault(parts.containerd_killed, 10.0),
    "engine/containerd stopped": Fault(parts.containerd_stopped, 30.0),
    "engine/shims killed": Fault(parts.shims_killed),
    "engine/socket removed": Fault(parts.socket_removed),
    **{f"engine/clock {_told(by)}": Fault(engine_stepping(by), 10.0) for by in STEPS},
    **{
        f"people/{what}": Fault(breaking, 5.0, mutes="web server" in what, loses_deletions="directory" in what)
        for what, breaking in BY_PEOPLE.items()
    },
    **_of_a_server("telegram"),
    "telegram/5xx": Fault(telegram_answering("break_down")),
    "telegram/wrong JSON": Fault(telegram_answering("garbage")),
    **_of_a_server("provider"),
    "provider/5xx": Fault(provider_answering("break_down")),
    "provider/wrong JSON": Fault(provider_answering("garbage")),
    **_of_a_server("mail"),
    **_of_a_server("redis", "redis"),
    "redis/kill": Fault(redis_killed, kind="redis"),
    **{f"redis/stop {seconds:.0f} s": Fault(redis_stopped, seconds, kind="redis") for seconds in STOPS},
    "redis/hang after connect": Fault(relay("redis", "hang"), 10.0, kind="redis"),
    "redis/wrong answers": Fault(relay("redis", "garbage"), kind="redis"),
    "mail/4xx": Fault(mail_refused),
    "leader/kill": Fault(beside_another(killing("watcher"))),
    **{f"leader/stop {seconds:.0f} s": Fault(beside_another(stopping("watcher")), seconds) for seconds in STOPS},
    "names/kill": Fault(names("refuse"), 10.0, kind="names"),
    **{f"names/stop {seconds:.0f} s": Fault(names("hang"), seconds, kind="names") for seconds in STOPS},
    "names/server fails": Fault(names("failing"), 10.0, kind="names"),
    "names/no such name": Fault(names("unknown"), 10.0, kind="names"),
    "names/wrong answers": Fault(names("garbage"), 10.0, kind="names"),
    "gateway/kill": Fault(gateway_killed, kind="gateway"),
    **{f"gateway/stop {seconds:.0f} s": Fault(gateway_stopped, seconds, kind="gateway") for seconds in STOPS},
    "gateway/volumes removed": Fault(gateway_volumes_removed, 10.0, kind="gateway"),
    "gateway/volumes removed, then kill": Fault(gateway_volumes_removed_and_killed, 10.0, kind="gateway"),
    "gateway/execs hang": Fault(engine_execs_hang, 10.0, kind="gateway"),
    **{f"gateway/clock {_told(by)}": Fault(gateway_stepping(by), 10.0, kind="gateway") for by in STEPS},
    **{f"clock/{_told(by)}": Fault(stepping(by), 10.0, kind="clock") for by in STEPS},
}
"""`process/fault`."""


ELSEWHERE = {
    "mail/wrong answers": "tests/accounts/services/outbox has seven faults at seven steps of the conversation",
}
"""Cells that are not tried here, and why."""


def find_kinds() -> set[str]:
    """The kinds of installations that can be made here."""
    there = {"redis": bool(find_redis()), "gateway": bool(find_gateway_image()), "clock": bool(LIBRARY)}
    there["processes"] = find_group() is not None
    return {fault.kind for fault in FAULTS.values() if there.get(fault.kind, True)}


def draw(number: int, chance: random.Random) -> list[str]:
    """Some faults by chance, all of one kind of installation, and each kind in its proportion.

    None of them takes minutes, as a mail does that is kept back.
    """
    kinds = find_kinds() - {"clock"}
    short = [name for name in FAULTS if FAULTS[name].lasts <= 30 and not name.startswith("mail/")]
    by_kind = [[name for name in short if FAULTS[name].kind == kind] for kind in sorted(kinds)]
    return chance.sample(chance.choices(by_kind, list(map(len, by_kind)))[0], number)
