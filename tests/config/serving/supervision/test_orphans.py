"""What a child process does after its parent was killed, while it waits for a server that never answers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from config.serving.supervision.children import KILL_AFTER, ORPHANED_WATCHER_ENDS_WITHIN, WATCHER, WEB
from tests.config.serving.served import is_alive
from tests.paths import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(300)

CUT_FOR = ORPHANED_WATCHER_ENDS_WITHIN + 2


@contextmanager
def parent_of(name: str, *options: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Yields a parent, and the process id of its child, which waits."""
    command = [sys.executable, "-m", "tests.config.serving.supervision.orphaned", name, *options]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True) as parent:
        try:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            try:
                yield parent, child
            finally:
                if is_alive(child):
                    os.kill(child, signal.SIGKILL)
        finally:
            parent.kill()


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_watcher_that_waits_for_a_silent_server_ends_soon_after_its_parent_was_killed(way: str) -> None:
    """Otherwise it would keep its lease for half a minute, and the next watcher could not lead."""
    with parent_of(WATCHER, way) as (parent, child):
        parent.kill()
        parent.wait()
        wait_until(lambda: not is_alive(child), within=KILL_AFTER - 10, every=0.1)


def test_a_web_server_finishes_its_requests_after_its_parent_was_killed() -> None:
    with parent_of(WEB, "fork") as (parent, child):
        parent.kill()
        parent.wait()
        time.sleep(CUT_FOR)
        assert is_alive(child)


def test_a_watcher_that_was_replaced_by_a_handover_may_finish_its_work() -> None:
    with parent_of(WATCHER, "fork") as (parent, child):
        assert parent.stdin is not None
        parent.stdin.close()
        time.sleep(CUT_FOR)
        assert is_alive(child)
