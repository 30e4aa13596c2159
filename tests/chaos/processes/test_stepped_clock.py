"""The clock steps under a running service, web server and watcher, by libfaketime: the status is right within seconds.

The engine and this process keep the right time. Of the service's processes only the monotonic clock does, as in
reality.
"""

import json
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.chaos.clock import LIBRARY, faked_clock, set_clock
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.replies import Reply
from tests.chaos.server import Server, Site
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not LIBRARY, reason="There is no libfaketime; the whole run installs it."),
]

MENDED_WITHIN = 90.0
"""A guard, for machines under load. In fact a round comes every two seconds."""

STEPS = [timedelta(minutes=-10), timedelta(days=-1), timedelta(minutes=10), timedelta(days=1)]


class WholeService(Server):
    """`manage.py serve` with a clock that steps as a file says."""

    arguments = ("manage.py", "serve")

    @property
    def clock(self) -> Path:
        return self.site.folder / "clock"

    def start(self) -> None:
        set_clock(self.clock)
        self._environment |= faked_clock(self.clock)
        super().start()
        wait_until(self.is_watched, within=MENDED_WITHIN, what=self.log.read_text)

    def is_watched(self) -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=30) as answer:
            return bool(json.loads(answer.read()).get("watcher") == "ok")

    def end(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(60)


@pytest.fixture
def service(site: Site) -> Iterator[WholeService]:
    service = WholeService(site, {})
    service.start()
    yield service
    service.end()


@pytest.mark.rare(3)
def test_an_agent_killed_after_a_clock_step_is_noticed_and_restarted(
    service: WholeService, docker_instance: DockerInstance
) -> None:
    made: Reply = service.create()
    assert made.status == 201, made.json
    project = made.json["id"]
    name = docker_instance.name_of(project)

    def status() -> str:
        return str(service.call("GET", f"/api/projects/{project}").json["status"])

    def runs_again(before: str) -> bool:
        found = docker_instance.client.inspect_container(name)["State"]
        return bool(found["Running"] and found["StartedAt"] != before)

    for by in STEPS:
        wait_until(lambda: status() == "running", within=MENDED_WITHIN, what=service.log.read_text)
        set_clock(service.clock, by)
        before = docker_instance.client.inspect_container(name)["State"]["StartedAt"]
        if by == STEPS[0]:  # once, because a container that vanishes again within ten minutes counts as failed
            docker_instance.client.remove_container(name, force=True)
            wait_until(lambda: name in docker_instance.containers(), within=MENDED_WITHIN, what=service.log.read_text)
        else:
            docker_instance.client.kill(name)
            wait_until(partial(runs_again, before), within=MENDED_WITHIN, what=service.log.read_text)
        wait_until(lambda: status() == "running", within=MENDED_WITHIN, what=service.log.read_text)
    assert service.delete(project).status in {202, 204}
