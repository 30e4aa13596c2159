"""What each of so many projects on a simulated Swarm of 50 nodes costs: the processor time of each is to be flat.

    python -m tests.benchmarks.many_nodes [--projects 100 1000 10000] [--nodes 50] [--api 1.41] [--rounds 5]
        [--call-ms 2] [--row-us 45]

The manager is a socket that tells of so many services, with one task each, all of which run. It answers after as many
milliseconds for a call and microseconds for a row as `--call-ms` and `--row-us` say; take those of your own manager. A
page is what an owner with so many gets of the API, 50 at a time; the list is the manager's, read; a look is a round of
the watcher, narrow as every two seconds, and through the whole table as once a minute, with the agents' logs where what
is known of them is older than four seconds. From API 1.44 on each specification holds the list of system calls, and is
ten times as long. 10,000 take minutes and some gigabytes. `DATABASE_URL` takes PostgreSQL.
"""

import argparse
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from tests.benchmarks.swarm_rows import write_node, write_note, write_rows
from tests.fakes.docker_socket import FaultySocket

if TYPE_CHECKING:
    from rest_framework.test import APIClient

PAGE = 50


class SlowManager(FaultySocket):
    """`rows` is the length of the lists of services and tasks; each row takes some time."""

    rows, call_seconds, row_seconds = 0, 0.0, 0.0

    def _misbehave(self, connection: Any, mode: str, status: int, body: bytes) -> bool:
        long = self.requests[-1].split()[1].partition("?")[0].endswith(("/services", "/tasks"))
        time.sleep(self.call_seconds + (self.rows * self.row_seconds if long else 0.0))
        return super()._misbehave(connection, mode, status, body)


def main() -> None:
    options = read_options()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    logging.disable(logging.INFO)
    from django.conf import settings
    from django.test.runner import DiscoverRunner

    from tests.benchmarks.harness import print_row

    settings.BERTH_ENGINE_CLASS = "containers.swarm.engine.SwarmEngine"
    settings.BERTH_GATEWAY = False
    runner = DiscoverRunner(verbosity=0, interactive=False)
    databases = runner.setup_databases()
    try:
        with tempfile.TemporaryDirectory(prefix="berth-bench-") as folder:
            manager = SlowManager(Path(folder) / "docker.sock")
            manager.api = options.api
            manager.call_seconds, manager.row_seconds = options.call_ms / 1000, options.row_us / 1e6
            os.environ["DOCKER_HOST"] = manager.url
            names = ("page", "list", "look", "whole look")
            print_row("projects", "MB told", *(f"{name} {unit}" for name in names for unit in ("ms", "µs each")))
            for count in options.projects:
                measure(manager, count, options)
            manager.close()
    finally:
        runner.teardown_databases(databases)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--api", default="1.41", help="of the manager")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--call-ms", type=float, default=2.0)
    parser.add_argument("--row-us", type=float, default=45.0)
    return parser.parse_args()


def measure(manager: SlowManager, count: int, options: argparse.Namespace) -> None:
    from accounts import clock
    from projects.watcher.leader import beat, become_leader
    from projects.watcher.reconcile.full import reconcile
    from tests.benchmarks.harness import print_row

    for rows in (1, count):
        api = make_fleet(rows)
        tell_of(manager, options.nodes)
        settle()

    def look(*, narrow: bool) -> None:
        assert become_leader("benchmark")
        result = reconcile(narrow=narrow, include_volumes=False)
        assert (result.changed, result.repaired, result.failed) == (0, [], []), result
        beat("benchmark", result.at)

    assert become_leader("benchmark")

    def read_page() -> None:
        beat("benchmark", clock.now())  # as where rounds come in time
        answer = api.get(f"/api/projects?limit={PAGE}", headers={"host": "127.0.0.1:8000"})
        assert answer.status_code == 200, answer.content[:300]
        assert {each["status"] for each in answer.json()} == {"running"}, answer.content[:600]

    acts: dict[str, Callable[[], object]] = {
        "page": read_page,
        "list": list_all,
        "look": partial(look, narrow=True),
        "whole": partial(look, narrow=False),
    }
    told = sum(len(body) for answers in manager.script.values() for _, _, body in answers) / 1e6
    cells = [f"{told:.1f}"]
    for name, act in acts.items():
        seconds, cpu = zip(*(timed(act) for _ in range(options.rounds)), strict=True)
        share = PAGE if name == "page" else count
        cells += [f"{statistics.median(seconds) * 1000:.0f}", f"{statistics.median(cpu) * 1e6 / share:.0f}"]
    print_row(count, *cells)


def settle() -> None:
    """Reconciles until everything the manager reports is recorded. Further rows are copies of the existing one."""
    from projects.watcher.reconcile.full import reconcile

    for _ in range(5):
        if not reconcile(include_volumes=False).changed:
            return
    raise SystemExit("The rows never agree with what the manager tells.")


def list_all() -> None:
    from containers.docker_api.client import Connection
    from containers.swarm.services.services import Services

    Services(Connection()).list_labels({"berth.instance": "berth"})


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of this thread's processor time."""
    began, used = time.perf_counter(), time.thread_time()
    act()
    return time.perf_counter() - began, time.thread_time() - used


def make_fleet(count: int) -> "APIClient":
    """Creates that many running projects of one owner, whose client it returns."""
    from accounts.models import User
    from projects.models import AgentType, Plan, Project
    from tests.clients import api_of
    from tests.many_rows import multiply

    owner, _ = User.objects.get_or_create(email="bench@example.org")
    there = Project.objects.count()
    if not there:
        running = {"container_state": "running", "agent_state": "running"}
        common = {"owner": owner, "agent_type": AgentType.objects.all()[0], "plan": Plan.objects.all()[0]}
        Project.objects.create(name="Harbour pilot", instance="berth", **running, **common)
        there = 1
    multiply(Project.objects.all()[0], count - there)
    return api_of(owner)


def tell_of(manager: SlowManager, nodes: int) -> None:
    """Makes the manager list all projects, each with a service that has a task on one of the nodes."""
    from projects.models import Project

    keys = [str(key) for key in Project.objects.values_list("pk", flat=True)]
    services, tasks = write_rows(manager.api)
    ids = [f"{number:07d}".ljust(25, "x") for number in range(len(keys))]
    manager.rows = len(keys)
    told = [services.replace("#key", key).replace("#id", each) for key, each in zip(keys, ids, strict=True)]
    each_task = [
        tasks.replace("#key", key).replace("#id", each).replace("#node", f"node-{number % nodes}")
        for number, (key, each) in enumerate(zip(keys, ids, strict=True))
    ]
    noted = [
        write_note(key, each, f"node-{number % nodes}")
        for number, (key, each) in enumerate(zip(keys, ids, strict=True))
    ]
    listed = [write_node(number) for number in range(nodes)]
    for path, rows in (("services", told), ("tasks", each_task), ("nodes", listed), ("configs", noted)):
        manager.script[f"GET /{path}"] = [("answer", 200, f"[{','.join(rows)}]".encode())]
    changed = [Project(pk=key, container_id=each) for key, each in zip(keys, ids, strict=True)]
    Project.objects.bulk_update(changed, ["container_id"], batch_size=200)


if __name__ == "__main__":
    main()
