"""A server of the last release keeps working while this version migrates its database and takes over, and so do its
agents.

It needs the history of the repository, which a shallow checkout does not have.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server, Site
from tests.paths import ROOT
from tests.upgrade.releases import LAST
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not LAST.is_here, reason="the history is not here"),
]
WITHIN = 200.0


@pytest.fixture
def site(docker_instance: DockerInstance, tmp_path: Path) -> Iterator[Site]:
    old = tmp_path / "old"
    old.mkdir()
    LAST.unpack(old)
    made = Site(tmp_path, docker_instance, root=old)
    try:
        yield made
    finally:
        made.close()


class Requests:
    """Reads all the time, and restarts one of the projects."""

    def __init__(self, server: Server, restarted: str) -> None:
        self.server, self.reads, self.commands = server, Counter[int](), Counter[int]()
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(self._read,)),
            threading.Thread(target=self._repeat, args=(lambda: self._restart(restarted),)),
        ]

    def _repeat(self, act: Callable[[], None]) -> None:
        while not self._stopped.wait(0.1):
            act()

    def _read(self) -> None:
        self.reads[self.server.call("GET", "/api/projects").status] += 1

    def _restart(self, project: str) -> None:
        self.commands[self.server.control(project, "restart").status] += 1

    def __enter__(self) -> "Requests":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self) -> None:
        reads, commands = self.reads.total() + 5, self.commands.total() + 1
        wait_until(lambda: self.reads.total() >= reads and self.commands.total() >= commands, within=WITHIN)


def test_no_read_fails_and_no_agent_is_touched(site: Site, docker_instance: DockerInstance) -> None:
    old = site.serve()
    stays, restarted = (old.create(name).json["id"] for name in ("Stays", "Restarted"))
    container = docker_instance.name_of(stays)
    run = docker_instance.client.inspect_container(container)["State"]["StartedAt"]
    with Requests(old, restarted) as requests:
        requests.wait_for_more()
        site.root = ROOT
        migrated = site.run("manage", "migrate", "--verbosity", "0")
        assert migrated.returncode == 0, migrated.stderr
        requests.wait_for_more()
        new = site.serve()
        requests.wait_for_more()
        requests.server = new
        old.kill()
        requests.wait_for_more()
    # 0 is the connection that was open when the old server was killed.
    assert set(requests.reads) <= {200, 0}, old.log.read_text()[-3000:]
    assert requests.reads[0] <= 1
    assert set(requests.commands) <= {200, 409, 503, 0}
    assert {each["name"]: each["status"] for each in new.call("GET", "/api/projects").json}["Stays"] == "running"
    assert docker_instance.client.inspect_container(container)["State"]["StartedAt"] == run
    assert docker_instance.states()[stays] == "running"
