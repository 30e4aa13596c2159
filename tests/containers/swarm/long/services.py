"""Measures lists, deploys and events with hundreds of services of the 2 MB stub on three real nodes of one machine.

`.venv/bin/python -m pytest tests/containers/swarm/long/services.py -s` takes some ten minutes, root and 5 GB of memory.
With `--whole` it goes on to a thousand services, and takes three quarters of an hour and 8 GB. It prints a row of a
table for each size.

The times depend on the load of the machine, the processor times hardly do.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connections

from containers.vocabulary import EngineEvent
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(6 * 3600)]

SIZES, MORE = (60, 100, 200, 300), (400, 500, 750, 1000)
AT_ONCE = 4
"""How many deploys run at a time, except those that are timed."""

COLUMNS = (
    "services", "load", "one of four deploys at once", "a deploy", "its processor: Berth", "manager", "other nodes",
    "a list without reports", "its processor", "a list with reports", "its processor", "start known after",
    "end known after",
)  # fmt: skip
ROUNDS = 5
WITHIN = 60.0


def test_measure_hundreds_of_services(pytestconfig: pytest.Config) -> None:
    sizes = SIZES + MORE if pytestconfig.getoption("--whole") else SIZES
    with some_nodes(3) as swarm, pytest.MonkeyPatch.context() as patch, swarm.settings(patch):
        say(f"| {' | '.join(COLUMNS)} |")
        say("|---" * len(COLUMNS) + "|")
        keys: list[str] = []
        for size in sizes:
            more = [f"{swarm.under_test().key}-{number}" for number in range(len(keys), size)]
            began = time.monotonic()
            deploy_all(swarm, more)
            each = (time.monotonic() - began) / len(more)
            keys += more
            say(f"| {size} | {os.getloadavg()[0]:.0f} | {each:.2f} s each | {measure(swarm, keys)} |")


def deploy_all(swarm: Swarm, keys: list[str]) -> None:
    under_test = swarm.under_test()

    def act(key: str) -> None:
        try:
            deploy(under_test, key=key)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(act, keys))


def measure(swarm: Swarm, keys: list[str]) -> str:
    engine, under_test = swarm.engine, swarm.under_test()
    brief = time_list(lambda: engine.observe({}, briefly=frozenset(keys)))
    whole = time_list(lambda: require_all(swarm, keys))
    events = engine.events({}, timeout=WITHIN)
    ours, engines = time.process_time(), processor_of_engines(swarm)
    deployed = took(lambda: deploy(under_test, key=under_test.key))
    begun = time.monotonic()
    ours = time.process_time() - ours
    manager, *others = (after - before for before, after in zip(engines, processor_of_engines(swarm), strict=True))
    wait_until(lambda: next(events).key == under_test.key, within=WITHIN)
    start = time.monotonic() - begun
    node = next(each for each in swarm.cluster.nodes if each.node_id == place_of(swarm, under_test.key))
    [found] = node.client.containers(filters={"label": f"berth.project={under_test.key}"})
    node.client.kill(found["Id"])
    killed = time.monotonic()
    wait_until(lambda: is_end(next(events), under_test.key), within=WITHIN)
    end = time.monotonic() - killed
    engine.remove(under_test.key, volumes=True)
    times = [deployed, ours, manager, sum(others), *brief, *whole, start, end]
    return " | ".join(f"{each:.2f} s" for each in times)


def time_list(read: Callable[[], object]) -> tuple[float, float]:
    """Returns the median time of a list, and the processor time that each one takes this process, in seconds."""
    before = time.process_time()
    times = [took(read) for _ in range(ROUNDS)]
    return statistics.median(times), (time.process_time() - before) / ROUNDS


def processor_of_engines(swarm: Swarm) -> list[float]:
    """Returns the seconds of processor time that the engine of each node has had, without its containers."""
    ticks = os.sysconf("SC_CLK_TCK")
    stats = [Path(f"/proc/{(node.home / 'pid').read_text().strip()}/stat").read_text() for node in swarm.cluster.nodes]
    return [sum(map(int, stat.rpartition(") ")[2].split()[11:13])) / ticks for stat in stats]


def require_all(swarm: Swarm, keys: list[str]) -> None:
    assert {each.key for each in swarm.engine.observe({})} == set(keys)


def place_of(swarm: Swarm, key: str) -> str:
    seen = swarm.engine.inspect(key)
    assert seen is not None
    return seen.node


def is_end(event: EngineEvent, key: str) -> bool:
    return (event.key, event.action) == (key, "die")


def took(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
