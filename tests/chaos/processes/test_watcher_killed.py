"""kill -9 of the watcher: nothing is lost, and the next one continues where it left off."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.chaos.consistency import await_consistency
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server, Site
from tests.paths import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]

MENDED_WITHIN = 35.0


@pytest.fixture
def watch(site: Site, is_long: bool) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    running: list[subprocess.Popen[bytes]] = []
    # The short version does not wait a quarter of a minute for the end of the dead one's lease.
    environment = site.environment if is_long else {**site.environment, "CHAOS_LEASE": "2"}

    def start() -> subprocess.Popen[bytes]:
        with (site.folder / "watcher.log").open("ab") as output:
            running.append(
                subprocess.Popen(
                    [sys.executable, "manage.py", "watch"],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
            )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait(60)


@pytest.mark.rare(3)
def test_a_killed_watcher_loses_nothing(
    server: Server, docker_instance: DockerInstance, watch: Callable[[], subprocess.Popen[bytes]], is_long: bool
) -> None:
    for _ in range(10 if is_long else 1):
        kill_and_replace_watcher(server, docker_instance, watch, is_long=is_long)


def kill_and_replace_watcher(
    server: Server, docker_instance: DockerInstance, watch: Callable[[], subprocess.Popen[bytes]], *, is_long: bool
) -> None:
    project = server.create().json["id"]
    name = docker_instance.name_of(project)

    def is_running() -> bool:
        return docker_instance.state_and_restarts(name)[0] == "running"

    def status() -> str:
        return str(server.call("GET", f"/api/projects/{project}").json["status"])

    def operation() -> str:
        rows = server.call("GET", "/chaos/rows").json["rows"]
        return str(next(row["operation"] for row in rows if row["id"] == project))

    first = watch()
    docker_instance.client.kill(name)
    wait_until(is_running, within=MENDED_WITHIN)
    if not is_long:  # the long version also kills it in the middle of its work, which costs half a minute
        wait_until(lambda: not operation(), within=MENDED_WITHIN)
    os.kill(first.pid, signal.SIGKILL)
    first.wait(60)
    docker_instance.client.remove_container(name, force=True)
    # Its heartbeat is believed for five seconds more, and what it was about when it died for half a minute.
    wait_until(lambda: status() in {"crashed", "unknown"}, within=MENDED_WITHIN)
    second = watch()
    wait_until(is_running, within=MENDED_WITHIN)
    wait_until(lambda: status() == "running", within=MENDED_WITHIN)
    second.terminate()
    assert second.wait(60) == 0
    await_consistency(server, docker_instance)
    assert server.delete(project).status == 204
