"""How soon a crash is visible, and how soon many removed agents are back, against the engine itself.

    python -m tests.benchmarks.crashes [--crashes 20] [--many 300]

An agent is killed from outside. The engine's own event is heard by a listener of this command; visible is when the API
says something else than `running`. Then so many agents are removed by force, behind Berth's back, and it is timed
until the engine runs them all again. By hand as many are made and removed before and after, eight at a time, on the
same engine. That takes some six minutes for 300; how far it is, it says on the standard error.
"""

import argparse
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import uuid4

from containers.docker.secrets import pack_secrets
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from tests.benchmarks.deploy import Raw
from tests.benchmarks.harness import Client, Server, percentile, print_row, serving, timed
from tests.engines import connect
from tests.waiting import wait_until

AT_ONCE = 8
WAITING = 60.0
"""Seconds for one agent."""

RETURN = 600.0
"""Seconds for all that were removed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crashes", type=int, default=20, help="0: none")
    parser.add_argument("--many", type=int, default=300, help="0: none")
    options = parser.parse_args()
    raw = Raw()
    image = raw.make_image()
    try:
        with serving(image=image) as server:
            raw.prepare(server)
            if options.crashes:
                measure_crashes(server, raw.client, options.crashes)
            if options.many:
                measure_returns(server, raw, options.many)
            raw.clean_up()
    finally:
        raw.client.close()


def create_numbered(client: Client, number: int) -> str:
    token = f"{uuid4().int % 10**15}:{number}"
    body = {"name": f"bench {number}", "type": "stub", "plan": "bench", "telegramToken": token, "apiKey": "sk-bench"}
    return str(client.ask("POST", "/api/projects", body, 201)["id"])


def is_running(status: Callable[[], str]) -> bool:
    return status() == "running"


def measure_crashes(server: Server, engine: Any, crashes: int) -> None:
    client = server.connect()
    heard: dict[str, float] = {}

    def listen() -> None:
        own = connect()
        for event in own.events(decode=True, filters={"event": "die", "label": f"{INSTANCE_LABEL}={server.instance}"}):
            heard[event["Actor"]["Attributes"][PROJECT_LABEL]] = time.monotonic()

    threading.Thread(target=listen, daemon=True).start()
    told: list[float] = []
    visible: list[float] = []
    for number in range(crashes):
        project = create_numbered(client, number)
        path = f"/api/projects/{project}"

        def status(path: str = path) -> str:
            return str(client.call("GET", path)[1]["status"])

        wait_until(partial(is_running, status), within=WAITING)
        chosen = {"label": [f"{INSTANCE_LABEL}={server.instance}", f"{PROJECT_LABEL}={project}"]}
        process = engine.inspect_container(engine.containers(filters=chosen)[0]["Id"])["State"]["Pid"]
        began = time.monotonic()
        os.kill(process, signal.SIGKILL)
        while status() == "running":
            time.sleep(0.002)  # a client that never pauses would take the processor on which the watcher has to look
        visible.append((time.monotonic() - began) * 1000)
        wait_until(partial(heard.__contains__, project), within=WAITING)
        told.append((heard[project] - began) * 1000)
        client.call("DELETE", path)
    later = [seen - event for seen, event in zip(visible, told, strict=True)]
    print_row("crashes", "event ms", "visible ms", "later ms", "later p90 ms")
    medians = (f"{statistics.median(values):.0f}" for values in (told, visible, later))
    print_row(crashes, *medians, f"{percentile(later, 0.9):.0f}")


def measure_returns(server: Server, raw: Raw, many: int) -> None:
    """By hand before and after, because the machine's speed drifts. What is made there and removed is what Berth's are.

    There is one round only: Berth does not create an agent again that vanishes a second time soon after the first.
    """
    before = make_and_remove_by_hand(raw, many)
    took, _ = timed(lambda: create_side_by_side(server, many))
    tell(f"{many} agents deployed", took)
    by_berth, _ = timed(lambda: remove_and_wait(server, raw.client, many))
    tell(f"{many} agents removed, and back", by_berth)
    server.stop()
    remove_agents(raw.client, server.instance)
    after = make_and_remove_by_hand(raw, many)
    by_hand = (before + after) / 2
    print_row("removed", "raw s before", "Berth s", "raw s after", "ratio")
    print_row(many, *(f"{each / 1000:.1f}" for each in (before, by_berth, after)), f"{by_berth / by_hand:.2f}")


def remove_agents(engine: Any, instance: str) -> None:
    for each in engine.containers(all=True, filters={"label": [f"{INSTANCE_LABEL}={instance}"]}):
        engine.remove_container(each["Id"], force=True, v=True)


def tell(what: str, milliseconds: float) -> None:
    sys.stderr.write(f"{what}: {milliseconds / 1000:.1f} s\n")


def create_side_by_side(server: Server, many: int) -> None:
    """By several users, because the service limits how many commands of one user it carries out at a time."""
    clients = server.connect_users(AT_ONCE)

    def create(place: int) -> None:
        for number in range(place, many, AT_ONCE):
            create_numbered(clients[place], number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(create, range(AT_ONCE)))


def make_and_remove_by_hand(raw: Raw, many: int) -> float:
    """The steps of a deploy: create, deliver the secrets, start. The state's volume is kept on removal.

    Returns the milliseconds that it took.
    """

    def make(number: int) -> None:
        name = f"{raw.mark}-many-{number}"
        raw.create(name)
        secrets = pack_secrets(raw.spec.secrets, group=raw.spec.user)
        raw.client.put_archive(name, "/run/secrets", secrets)
        raw.client.start(name)

    def remove(number: int) -> None:
        name = f"{raw.mark}-many-{number}"
        raw.client.remove_container(name, force=True)
        raw.client.remove_volume(f"{name}-secrets", force=True)

    began = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(make, range(many)))
        list(pool.map(remove, range(many)))
    took = (time.perf_counter() - began) * 1000
    tell(f"{many} made and removed by hand", took)
    return took


def remove_and_wait(server: Server, engine: Any, many: int) -> None:
    """Removal takes time as well, also for containers made by hand.

    An agent is back when the engine starts its new container. Events tell, because lists would take the processors.
    """
    within = {"label": [f"{INSTANCE_LABEL}={server.instance}"]}
    before = {each["Id"] for each in engine.containers(filters=within)}
    started: set[str] = set()
    events = connect().events(decode=True, filters=within | {"event": "start"})

    def listen() -> None:
        for event in events:
            started.update({event["id"]} - before)

    threading.Thread(target=listen, daemon=True).start()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda each: engine.remove_container(each, force=True), before))
    told = 0

    def are_back() -> bool:
        nonlocal told
        if len(started) // 50 > told:
            told = len(started) // 50
            sys.stderr.write(f"{told * 50} of {many} are back\n")
        return len(started) == many

    wait_until(are_back, within=RETURN, every=0.1, what="They are not all back")


if __name__ == "__main__":
    main()
