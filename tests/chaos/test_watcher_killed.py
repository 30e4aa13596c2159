"""kill -9 of the watcher: nothing is lost, and the next one goes on where it left off."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tests.chaos.corner import Corner
from tests.chaos.server import Server, Site
from tests.chaos.truth import assert_server_at_rest
from tests.e2e.service import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]

MENDED_WITHIN = 35.0


@pytest.fixture
def watch(site: Site, is_long: bool) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    running: list[subprocess.Popen[bytes]] = []
    # The short version does not wait for a quarter of a minute until the dead one's lease has run out.
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


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + MENDED_WITHIN
    while not holds():
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.1)


def test_a_watcher_killed_loses_nothing(
    site: Site, server: Server, corner: Corner, watch: Callable[[], subprocess.Popen[bytes]], is_long: bool
) -> None:
    for _ in range(10 if is_long else 1):
        project = server.create().json["id"]
        name = f"{corner.instance}-{project}"
        first = watch()
        corner.client.kill(name)
        until(lambda: corner.run_of(name)[0] == "running")  # noqa: B023
        if not is_long:  # the long version also meets it in the middle of what it does, which costs half a minute
            until(lambda: not server.call("GET", "/chaos/rows").json["rows"][0]["operation"])
        os.kill(first.pid, signal.SIGKILL)
        first.wait(60)
        corner.client.remove_container(name, force=True)
        # Its heartbeat is believed for five seconds more, and what it was about when it died for half a minute.
        until(lambda: server.call("GET", f"/api/projects/{project}").json["status"] in {"crashed", "unknown"})  # noqa: B023
        second = watch()
        until(lambda: corner.run_of(name)[0] == "running")  # noqa: B023
        until(lambda: server.call("GET", f"/api/projects/{project}").json["status"] == "running")  # noqa: B023
        second.terminate()
        assert second.wait(60) == 0
        assert_server_at_rest(server, corner)
        assert server.delete(project).status == 204
