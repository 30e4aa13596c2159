"""Many agents end at once, each in another way: every end is reported correctly, and no other agent's status suffers.

The short version has one agent for each way. The long one (`--chaos=long`) has sixty, and prints how long it took.
"""

import os
import signal
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import cycle, islice
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Event, Project
from projects.watcher.watcher import Watcher
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.stub import STUB_PROJECT
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

MANY = 60
BYSTANDERS = 6
AT_ONCE = 16
WAITING = 300.0

WAYS: dict[str, tuple[str, int, bool]] = {
    "exit0": ("exited", 0, False),
    "exit1": ("crash", 1, False),
    "exit20": ("telegram_token", 20, False),
    "oom": ("out_of_memory", 137, True),
    "segfault": ("crash", 139, False),
    "killed": ("killed", 137, False),
}
"""The reason, the exit code and whether memory ran out, by the way in which an agent ends."""


@pytest.fixture
def agents(
    is_long: bool, real_engine: Callable[[str], None], api: APIClient, watcher: Callable[[], Watcher]
) -> dict[str, Project]:
    """Running agents by name, and a watcher. Some do not end with the others: bystanders."""
    real_engine("")
    ending, number = (MANY, MANY + BYSTANDERS) if is_long else (len(WAYS), len(WAYS) + 1)
    # Sixty stubs that check five times a second what they must do would keep the machine busy, and be what is measured.
    calm = {"settings": {"instructions": "calm"}} if is_long else {}
    names = [f"agent {each}" if each < ending else f"bystander {each}" for each in range(number)]
    made = [create_in_time(api, STUB_PROJECT | calm | {"name": name}) for name in names]
    watcher()
    wait_until(lambda: set(statuses(api).values()) == {"running"}, within=WAITING, what=lambda: str(statuses(api)))
    return {project.name: project for project in made}


def create_in_time(api: APIClient, body: dict[str, Any]) -> Project:
    """A busy engine may have no time for some of sixty."""
    made: dict[str, Any] = {}

    def create() -> bool:
        answer = api.post("/api/projects", body)
        made.update(answer.json())
        return answer.status_code == 201

    wait_until(create, within=WAITING, what=lambda: str(made))
    return Project.objects.get(pk=made["id"])


def statuses(api: APIClient) -> dict[str, str]:
    return {each["name"]: each["status"] for each in api.get("/api/projects").json()}


class Seen:
    """Keeps reading the list, and records the longest time for which a status was `unknown`,
    and when each was first `degraded`."""

    def __init__(self, api: APIClient) -> None:
        self._api = api
        self._since: dict[str, float] = {}
        self.longest = 0.0
        self.degraded_at: dict[str, float] = {}

    def look(self) -> dict[str, str]:
        found = statuses(self._api)
        now = time.monotonic()
        self._since = {name: self._since.get(name, now) for name, status in found.items() if status == "unknown"}
        self.degraded_at |= {
            name: time.time() for name, status in found.items() if status == "degraded" and name not in self.degraded_at
        }
        self.longest = max([self.longest, *(now - since for since in self._since.values())])
        return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "who" in metafunc.fixturenames:
        is_short = metafunc.config.getoption("--chaos", "short") == "short"
        metafunc.parametrize("who", ["engine"] if is_short else ["berth", "engine"])


@pytest.mark.rare(3)
def test_a_wave_of_crashes_gets_right_reasons(
    who: str,
    is_long: bool,
    docker_instance: DockerInstance,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    api: APIClient,
) -> None:
    """No matter what starts them again: an engine that does it hides at once how they ended.

    Agents that do not end and report trouble meanwhile are shown as degraded.
    """
    monkeypatch.setattr("containers.docker.drift.restarts_by_engine", lambda: who == "engine")
    everybody: dict[str, Project] = request.getfixturevalue("agents")
    agents = {name: project for name, project in everybody.items() if name.startswith("agent")}
    containers = {name: found for name, found in names(docker_instance, everybody).items() if name not in agents}
    ways = dict(zip(agents, islice(cycle(WAYS), len(agents)), strict=True))
    before = {name: docker_instance.client.inspect_container(names(docker_instance, agents)[name]) for name in agents}
    seen = Seen(api)

    def end(name: str) -> None:
        if ways[name] == "killed":
            os.kill(before[name]["State"]["Pid"], signal.SIGKILL)
        else:
            docker_instance.tell_stub(before[name]["Id"], ways[name])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(end, agents))
        list(pool.map(lambda container: docker_instance.tell_stub(container, "degraded"), containers.values()))
    ids = {project.pk: name for name, project in agents.items()}

    def told() -> dict[str, list[str]]:
        seen.look()
        events = Event.objects.filter(action="crash").order_by("pk").values_list("project_id", "outcome")
        return {name: [outcome for pk, outcome in events if ids.get(pk) == name] for name in agents}

    wait_until(lambda: seen.look() and seen.degraded_at.keys() >= containers.keys(), within=WAITING)
    wait_until(lambda: all(told().values()), within=WAITING, what=lambda: str(told()))
    settled = {
        "running",
        "crashed",
    }  # an agent whose token was refused is not tried again, except by an engine that was faster
    wait_until(lambda: settled.issuperset(map(seen.look().get, agents)), within=WAITING, what=lambda: str(told()))
    assert told() == {name: [WAYS[way][0]] for name, way in ways.items()}
    rows = Project.objects.filter(pk__in=ids).values_list("name", "ended_exit_code", "ended_oom_killed")
    assert {name: ended for name, *ended in rows} == {name: list(WAYS[way][1:]) for name, way in ways.items()}
    if is_long:
        took = [seen.degraded_at[name] - last_line_at(docker_instance, containers[name]) for name in containers]
        sys.stderr.write(
            f"\nrestarted by {who}: the longest `unknown` of {len(agents)} was {seen.longest:.1f} s, and "
            f"the longest from a bystander's line to `degraded` {max(took):.1f} s\n"
        )


def names(docker_instance: DockerInstance, agents: dict[str, Project]) -> dict[str, str]:
    return {name: docker_instance.name_of(str(project.pk)) for name, project in agents.items()}


@pytest.mark.rare(3)
def test_degradation_of_an_agent_and_its_end_are_shown_quickly(
    agents: dict[str, Project], is_long: bool, docker_instance: DockerInstance, api: APIClient
) -> None:
    containers = names(docker_instance, agents)
    took: list[float] = []
    for name in islice(agents, 6):
        for wish, status in (("degraded", "degraded"), ("well", "running")):
            docker_instance.tell_stub(containers[name], wish)
            wait_until(lambda: statuses(api)[name] == status, within=WAITING)  # noqa: B023 - used at once
            took.append(time.time() - last_line_at(docker_instance, containers[name]))
    assert set(statuses(api).values()) == {"running"}
    if is_long:
        sys.stderr.write(
            f"\nfrom an agent's line to its status, {len(agents)} followed: median {statistics.median(took):.2f} s, "
            f"longest {max(took):.2f} s\n"
        )


def last_line_at(docker_instance: DockerInstance, container: str) -> float:
    line = docker_instance.client.logs(container, tail=1, timestamps=True).decode()
    return datetime.fromisoformat(line.partition(" ")[0]).timestamp()
