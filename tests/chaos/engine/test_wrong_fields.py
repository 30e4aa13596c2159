"""An engine whose answers lack a field or have a wrong type: every status is right or `unknown`.

It tries some random changes, and more in the long version (`--chaos=long`). `tests/containers/docker` tries all of
them.
"""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.docker.observations import read_details, read_rows
from containers.errors import EngineError
from projects.models import Event, Project, Watch
from projects.watcher.reconcile.full import reconcile
from tests.chaos.agents.drifts import grow_old
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.stub import STUB_PROJECT
from tests.containers.wrong_fields import WRONG, Place, changed, is_meant, places_of
from tests.deploying import create_project
from tests.fakes.rewriting_docker import RewritingDocker
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

SOME, MANY = 12, 150


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RewritingDocker]:
    made = RewritingDocker(tmp_path_factory.mktemp("proxy") / "rewriting.sock")
    try:
        yield made
    finally:
        made.close()


class Trial:
    """Two agents, one of which runs. No matter what the engine says about them, they stay as they are."""

    def __init__(self, api: APIClient, proxy: RewritingDocker, docker_instance: DockerInstance) -> None:
        self._api, self._proxy, self._instance = api, proxy, docker_instance
        self._runs = create_project(api, STUB_PROJECT | {"name": "runs"})
        self._stopped = create_project(api, STUB_PROJECT | {"name": "stopped"})
        answer = api.post(f"/api/projects/{self._stopped.pk}/control", {"action": "stop"})
        assert answer.status_code == 200, answer.content
        self._right = {str(self._runs.pk): "running", str(self._stopped.pk): "stopped"}
        wait_until(lambda: self._statuses() == self._right, what=lambda: str(self._statuses()))
        self._events = list(Event.objects.values_list("pk", flat=True))

    def answers(self) -> tuple[list[Any], dict[str, Any]]:
        client, name = self._instance.client, self._runs.container_name
        listed = client.containers(all=True, filters={"name": name})
        return listed, client.inspect_container(name)

    def try_(self, kind: str, place: Place, wrong: Any) -> list[str]:
        """Returns what was wrong."""
        setattr(self._proxy, kind, lambda answer: changed(answer, place, wrong))
        before, said = self._instance.states(), list[str]()
        try:
            said += self._look("read")
            self._round()
            said += self._look("round", grow=False)
        finally:
            setattr(self._proxy, kind, None)
        self._round()
        self._wait_until_asked_again()
        said += self._look("afterwards")
        if self._instance.states() != before:
            said.append(f"containers: {self._instance.states()}")
        if events := list(Event.objects.exclude(pk__in=self._events).values_list("action", "outcome")):
            said.append(f"events: {events}")
            Event.objects.exclude(pk__in=self._events).delete()
        return said

    def _wait_until_asked_again(self) -> None:
        """After three lists in a row that could not be read, no read asks the engine for a second."""
        for project in (self._runs, self._stopped):
            grow_old(project)
        wait_until(lambda: self._statuses() == self._right, what=lambda: str(self._statuses()))

    def _look(self, when: str, *, grow: bool = True) -> list[str]:
        for project in (self._runs, self._stopped) if grow else ():
            grow_old(project)
        found = self._statuses()
        allowed = {key: {status, *(() if when == "afterwards" else {"unknown"})} for key, status in self._right.items()}
        wrong = [f"{when}: {self._right[key]} is {found}" for key in allowed if found.get(key) not in allowed[key]]
        for key in self._right:
            answer = self._api.get(f"/api/projects/{key}")
            if answer.status_code != 200 or answer.json()["status"] not in allowed[key]:
                wrong.append(f"{when}, one: {self._right[key]} is {answer.status_code} {answer.content[:200]!r}")
        return wrong

    def _statuses(self) -> dict[str, str]:
        answer = self._api.get("/api/projects")
        if answer.status_code != 200:
            return {"answer": f"{answer.status_code} {answer.content[:300]!r}"}
        return {each["id"]: each["status"] for each in answer.json()}

    def _round(self) -> None:
        Watch.objects.all().delete()
        Project.objects.update(reconcile_failures=0, reconcile_again_at=None)
        with suppress(EngineError):
            reconcile()


def misread(kind: str, answer: Any, read: Callable[[Any], object]) -> Iterator[tuple[str, Place, str]]:
    """The changes that no engine can mean and that matter to Berth."""
    true = read(answer)
    for place in places_of(answer):
        for name in [each for each in WRONG if not is_meant(answer, place, WRONG[each])]:
            try:
                is_same = read(changed(answer, place, WRONG[name])) == true
            except EngineError:
                is_same = False
            if not is_same:
                yield kind, place, name


@pytest.mark.rare(1)
def test_no_wrong_field_makes_a_status_wrong(
    proxy: RewritingDocker,
    real_engine: Callable[[str], None],
    api: APIClient,
    docker_instance: DockerInstance,
    is_long: bool,
) -> None:
    real_engine(proxy.url)
    trial = Trial(api, proxy, docker_instance)
    listed, inspected = trial.answers()
    cases = [*misread("listed", listed, read_rows), *misread("inspected", inspected, read_details)]
    seed = random.randrange(1 << 30)
    sys.stdout.write(f"seed {seed}, {len(cases)} changes\n")
    said = list[str]()
    for kind, place, name in random.Random(seed).sample(cases, MANY if is_long else SOME):
        found = trial.try_(kind, place, WRONG[name])
        said += [f"{kind} {'.'.join(map(str, place))}, {name}: {wrong}" for wrong in found]
    assert said == []
