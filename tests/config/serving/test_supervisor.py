"""The supervisor's module as its children meet it."""

import errno
import os
import subprocess
import sys
from unittest.mock import Mock

import pytest
from gunicorn.arbiter import Arbiter

from config.serving.gunicorn import SteadyArbiter
from config.serving.supervisor import Supervisor
from tests.paths import ROOT


def test_its_children_can_import_it_before_django_is_set_up() -> None:
    """`multiprocessing` imports the module of a child's target first; `run_child` sets Django up after that."""
    program = "import config.serving.children; from django.apps import apps; assert not apps.ready"
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_watcher_for_which_there_is_no_process_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had ended everything, the web server included."""
    supervisor, started = Supervisor(), []
    dead, alive = Mock(exitcode=1), Mock()
    dead.is_alive.return_value = False

    def start(name: str, *_: object) -> object:
        started.append(name)
        if len(started) < 3:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return alive

    monkeypatch.setattr("config.serving.supervisor.start_child", start)
    supervisor._children["watcher"] = dead
    moments = iter(range(0, 1000, 100))
    monkeypatch.setattr("config.serving.supervisor.time.monotonic", lambda: float(next(moments)))
    while supervisor._children["watcher"] is dead:
        supervisor._restart_watcher()
    assert started == ["watcher"] * 3
    assert supervisor._children["watcher"] is alive


def test_a_worker_for_which_there_is_no_process_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arbiter of gunicorn ends where a fork fails."""
    monkeypatch.setattr(Arbiter, "spawn_worker", Mock(side_effect=[BlockingIOError(errno.EAGAIN, "No"), 17]))
    arbiter = SteadyArbiter.__new__(SteadyArbiter)
    arbiter.log = Mock()
    assert [arbiter.spawn_worker(), arbiter.spawn_worker()] == [None, 17]
