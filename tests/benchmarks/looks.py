"""What a look of the watcher costs among many projects, of which 300 run: against one list call of the engine.

    python -m tests.benchmarks.looks [--rows 1000 10000 100000 1000000] [--containers 300] [--rounds 15]

The engine is a socket that answers with the list of so many healthy containers at once, so that what is left is Berth's
own work; a real engine takes longer for its list. `DATABASE_URL=postgresql://…` takes another database than SQLite. It
makes a test database there, and removes it.
"""

import argparse
import json
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

if TYPE_CHECKING:
    from projects.models import Project


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--containers", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    logging.disable(logging.INFO)
    from django.conf import settings
    from django.test.runner import DiscoverRunner

    from tests.benchmarks.harness import print_row
    from tests.fakes.docker_socket import faulty_socket

    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    runner = DiscoverRunner(verbosity=0, interactive=False)
    databases = runner.setup_databases()
    try:
        with tempfile.TemporaryDirectory(prefix="berth-bench-") as folder, faulty_socket(Path(folder)) as socket:
            os.environ["DOCKER_HOST"] = socket.url
            at_rest, listed = make_fleet(options.containers)
            socket.script["GET /containers/json"] = [("answer", 200, json.dumps(listed).encode())]
            print_row("rows", "list ms", "look ms", "whole table ms", "list cpu", "look cpu", "whole table cpu")
            for rows in options.rows:
                grow(at_rest, rows)
                measure(rows, options.rounds)
    finally:
        runner.teardown_databases(databases)


def make_fleet(containers: int) -> "tuple[Project, list[dict[str, Any]]]":
    """One stopped project, and a running one for each container. Returns their rows in the engine's list."""
    from accounts.models import User
    from containers.identity import own_labels
    from containers.vocabulary import GENERATION_LABEL, PROJECT_LABEL
    from projects.models import AgentType, Plan, Project
    from tests.many_rows import multiply

    common = {
        "owner": User.objects.create_user(email="bench@example.org"),
        "instance": "berth",
        "agent_type": AgentType.objects.all()[0],
        "plan": Plan.objects.all()[0],
    }
    running = {"container_state": "running", "health": "healthy", "agent_state": "running"}
    multiply(Project.objects.create(name="running", **running, **common), containers - 1)
    listed = []
    for number, project in enumerate(Project.objects.all()):
        Project.objects.filter(pk=project.pk).update(container_id=f"{number:064x}")
        listed.append(
            {
                "Id": f"{number:064x}",
                "Names": [f"/agent-{number}"],
                "Labels": {**own_labels(), PROJECT_LABEL: str(project.pk), GENERATION_LABEL: "1"},
                "State": "running",
                "Status": "Up 2 hours (healthy)",
                "Created": 1_790_000_000,
            }
        )
    return Project.objects.create(name="at rest", desired="stopped", **common), listed


def grow(at_rest: "Project", rows: int) -> None:
    from projects.models import Project
    from tests.many_rows import multiply

    multiply(at_rest, rows - Project.objects.count())


def measure(rows: int, rounds: int) -> None:
    from containers.docker_api.client import Connection
    from projects.watcher.leader import beat, become_leader
    from projects.watcher.reconcile.full import reconcile
    from tests.benchmarks.harness import print_row, timed

    connection = Connection()

    def ask() -> None:
        with connection.call() as client:
            client.containers(all=True, filters={"label": ["berth.instance=berth"]})

    def look(*, narrow: bool) -> None:
        assert become_leader("benchmark")
        result = reconcile(narrow=narrow, include_volumes=False)
        assert (result.changed, result.repaired, result.failed) == (0, [], []), result
        beat("benchmark", result.at)

    def processor(act: Callable[[], object]) -> float:
        began = time.process_time()
        act()
        return (time.process_time() - began) * 1000

    acts: dict[str, Callable[[], object]] = {
        "list": ask,
        "narrow": partial(look, narrow=True),
        "whole": partial(look, narrow=False),
    }
    figures: dict[str, list[float]] = {name: [] for name in [*acts, *(f"{name} cpu" for name in acts)]}
    for number in range(2 * rounds + 2):
        for name, act in acts.items():
            took, kind = (timed(act)[0], name) if number % 2 else (processor(act), f"{name} cpu")
            if number >= 2:  # warm-up
                figures[kind].append(took)
    print_row(rows, *(f"{statistics.median(values):.1f}" for values in figures.values()))


if __name__ == "__main__":
    main()
