"""The faults of each process, and how long each lasts."""

import random
from collections.abc import Mapping

from tests.chaos.clock import LIBRARY
from tests.chaos.matrix import breaking_engine_parts as parts
from tests.chaos.matrix.breaking import (
    engine_answering,
    engine_full,
    engine_killed,
    engine_restarted,
    engine_stopped,
    killing,
    serve_killed,
    service_full,
    stopping,
)
from tests.chaos.matrix.breaking_agents import BY_AGENTS, names_swapped
from tests.chaos.matrix.breaking_clocks import engine_stepping, slewed, stepping
from tests.chaos.matrix.breaking_database import database_clock
from tests.chaos.matrix.breaking_events import events_false
from tests.chaos.matrix.breaking_gateway import (
    BY_PEOPLE as TO_GATEWAY,
)
from tests.chaos.matrix.breaking_gateway import (
    EXECS,
    engine_execs_hang,
    gateway_killed,
    gateway_stepping,
    gateway_stopped,
    gateway_volumes_removed,
    gateway_volumes_removed_and_killed,
)
from tests.chaos.matrix.breaking_keys import beside_other_keys
from tests.chaos.matrix.breaking_leader import beside_another
from tests.chaos.matrix.breaking_machine import machine_paused, machine_restarted, power_cut, service_restarted
from tests.chaos.matrix.breaking_people import BY_PEOPLE
from tests.chaos.matrix.breaking_processes import engine_without_processes, find_group, without_processes
from tests.chaos.matrix.breaking_quietly import agents_frozen, keys_replaced, packets_lost
from tests.chaos.matrix.breaking_resources import (
    engine_without_inodes,
    service_read_only,
    service_without_inodes,
    without_descriptors,
    without_memory,
)
from tests.chaos.matrix.breaking_tidying import networks_removed
from tests.chaos.matrix.fault import HOURS, STEPS, STOPS, Fault, told
from tests.chaos.matrix.faults_of_servers import OF_SERVERS
from tests.chaos.matrix.gateway_image import find_gateway_image
from tests.chaos.matrix.redis import find_redis


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
    "serve/restarted": Fault(service_restarted, mutes=True),
    **{f"web server/stop {seconds:.0f} s": Fault(stopping("web server"), seconds, mutes=True) for seconds in STOPS},
    **{f"machine/stop {seconds:.0f} s": Fault(machine_paused, seconds, mutes=True) for seconds in STOPS},
    "machine/power cut": Fault(power_cut, mutes=True),
    "machine/restarted": Fault(machine_restarted, mutes=True),
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
    "engine/kill": Fault(engine_killed),
    **{f"engine/stop {seconds:.0f} s": Fault(engine_stopped, seconds) for seconds in STOPS},
    "engine/hang after connect": Fault(engine_answering("hang"), 10.0),
    "engine/drip": Fault(engine_answering("drip"), 10.0),
    "engine/half answers": Fault(engine_answering("hang in mid-body"), 10.0),
    "engine/lost answers": Fault(engine_answering("lost")),
    "engine/5xx": Fault(engine_answering("500")),
    "engine/wrong JSON": Fault(engine_answering("bad json")),
    "engine/404": Fault(engine_answering("404")),
    "engine/409": Fault(engine_answering("409")),
    "engine/slow": Fault(engine_answering("delay"), 20.0),
    "engine/restarted": Fault(engine_restarted),
    "engine/streams cut": Fault(parts.streams_cut, 10.0),
    "engine/disk full": Fault(engine_full),
    **{f"{process}/no descriptors": Fault(without_descriptors(process), 10.0) for process in ("engine", "containerd")},
    "engine/no processes": Fault(engine_without_processes, 10.0, kind="processes"),
    "engine/no inodes": Fault(engine_without_inodes),
    "engine/containerd killed": Fault(parts.containerd_killed, 10.0),
    "engine/containerd stopped": Fault(parts.containerd_stopped, 30.0),
    "engine/shims killed": Fault(parts.shims_killed),
    "engine/shims stopped": Fault(parts.shims_stopped, 10.0),
    "engine/events hang": Fault(parts.hanging("/events"), 30.0),
    "engine/logs hang": Fault(parts.hanging("/logs"), 30.0),
    "engine/false events": Fault(events_false, 15.0),
    "engine/lists hang": Fault(parts.hanging("/containers/json"), 10.0),
    "engine/socket removed": Fault(parts.socket_removed),
    **{f"engine/clock {told(by)}": Fault(engine_stepping(by), 10.0) for by in STEPS},
    **{
        f"people/{what}": Fault(breaking, 5.0, mutes="web server" in what, loses_deletions="directory" in what)
        for what, breaking in BY_PEOPLE.items()
    },
    **{f"agents/{what}": Fault(breaking, 10.0) for what, breaking in BY_AGENTS.items()},
    "people/swap names": Fault(names_swapped, 5.0),
    "people/replace the keys, watcher killed": Fault(keys_replaced, 10.0),
    "agents/frozen": Fault(agents_frozen, 20.0),
    "database/packets lost": Fault(packets_lost, 20.0),
    **OF_SERVERS,
    **{f"database/clock {told(by)}": Fault(database_clock(by), 10.0, kind="clock") for by in HOURS},
    "leader/kill": Fault(beside_another(killing("watcher"))),
    **{f"leader/stop {seconds:.0f} s": Fault(beside_another(stopping("watcher")), seconds) for seconds in STOPS},
    "gateway/kill": Fault(gateway_killed, kind="gateway"),
    **{f"gateway/stop {seconds:.0f} s": Fault(gateway_stopped(), seconds, kind="gateway") for seconds in STOPS},
    **{
        f"gateway/execs stop {seconds:.0f} s": Fault(gateway_stopped(EXECS), seconds, kind="gateway")
        for seconds in STOPS
    },
    **{f"gateway/{what}": Fault(breaking, 10.0, kind="gateway") for what, breaking in TO_GATEWAY.items()},
    "gateway/engine restarted": Fault(engine_restarted, kind="gateway"),
    "gateway/machine's power cut": Fault(power_cut, mutes=True, kind="gateway"),
    "gateway/disk full": Fault(engine_full, 10.0, kind="gateway"),
    "gateway/networks removed": Fault(networks_removed, 10.0, kind="gateway"),
    "gateway/volumes removed": Fault(gateway_volumes_removed, 10.0, kind="gateway"),
    "gateway/volumes removed, then kill": Fault(gateway_volumes_removed_and_killed, 10.0, kind="gateway"),
    "gateway/execs hang": Fault(engine_execs_hang, 10.0, kind="gateway"),
    **{f"gateway/clock {told(by)}": Fault(gateway_stepping(by), 10.0, kind="gateway") for by in STEPS},
    "clock/slewed": Fault(slewed, 25.0, kind="clock"),
    **{f"clock/{told(by)}": Fault(stepping(by), 10.0, kind="clock") for by in STEPS},
}
"""`process/fault`."""


ELSEWHERE = {
    "mail/wrong answers": "tests/accounts/services/outbox has seven faults at seven steps of the conversation",
}
"""Cells that are not tried here, and why."""


def find_kinds() -> set[str]:
    """Returns the kinds of installations that can be made here."""
    there = {"redis": bool(find_redis()), "gateway": bool(find_gateway_image()), "clock": bool(LIBRARY)}
    there["processes"] = find_group() is not None
    return {fault.kind for fault in FAULTS.values() if there.get(fault.kind, True)}


def draw(number: int, chance: random.Random) -> list[str]:
    """Returns some random faults, all for one kind of installation, with each kind in its proportion.

    None of them takes minutes, like a mail that is delayed.
    """
    kinds = find_kinds() - {"clock"}
    short = [name for name in FAULTS if FAULTS[name].lasts <= 30 and not name.startswith("mail/")]
    by_kind = [[name for name in short if FAULTS[name].kind == kind] for kind in sorted(kinds)]
    return chance.sample(chance.choices(by_kind, list(map(len, by_kind)))[0], number)
