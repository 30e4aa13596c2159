"""Hundreds of services of the 2 MB stub on three real nodes of one machine: what a list, a deploy and an event take.

`.venv/bin/python -m pytest tests/containers/swarm/long/services.py -s`: some ten minutes, as root, and 5 GB of memory.
It prints a row of a table for each hundred.
"""

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from containers.vocabulary import EngineEvent
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1700)]

SIZES = (60, 100, 200, 300)
AT_ONCE = 4
"""Deploys that are under way together, but for those that are timed."""

COLUMNS = (
    "services", "one of four deploys at once", "a deploy", "a list, brief", "a list with reports",
    "of that, processor of Berth", "its start told after", "an end told after",
)  # fmt: skip
ROUNDS = 5
WITHIN = 60.0


def test_measure_hundreds_of_services() -> None:
    with some_nodes(3) as swarm, pytest.MonkeyPatch.context() as patch, swarm.settings(patch):
        say(f"| {' | '.join(COLUMNS)} |")
        say("|---" * len(COLUMNS) + "|")
        keys: list[str] = []
        for size in SIZES:
            more = [f"{swarm.under_test().key}-{number}" for number in range(len(keys), size)]
            began = time.monotonic()
            deploy_all(swarm, more)
            each = (time.monotonic() - began) / len(more)
            keys += more
            say(f"| {size} | {each:.2f} s each | {measure(swarm, keys)} |")


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
    brief = [took(lambda: engine.observe({}, briefly=frozenset(keys))) for _ in range(ROUNDS)]
    before = time.process_time()
    whole = [took(lambda: require_all(swarm, keys)) for _ in range(ROUNDS)]
    processor = (time.process_time() - before) / ROUNDS
    events = engine.events({}, timeout=WITHIN)
    deployed = took(lambda: deploy(under_test, key=under_test.key))
    begun = time.monotonic()
    wait_until(lambda: next(events).key == under_test.key, within=WITHIN)
    start = time.monotonic() - begun
    node = next(each for each in swarm.cluster.nodes if each.node_id == place_of(swarm, under_test.key))
    [found] = node.client.containers(filters={"label": f"berth.project={under_test.key}"})
    node.client.kill(found["Id"])
    killed = time.monotonic()
    wait_until(lambda: is_end(next(events), under_test.key), within=WITHIN)
    end = time.monotonic() - killed
    engine.remove(under_test.key, volumes=True)
    times = [deployed, statistics.median(brief), statistics.median(whole), processor, start, end]
    return " | ".join(f"{each:.2f} s" for each in times)


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
