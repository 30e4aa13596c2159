"""The supervisor's module as its children import it."""

import errno
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from ctypes import c_int
from typing import Any
from unittest.mock import Mock

import pytest
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from config.serving.gunicorn import SteadyArbiter
from config.serving.supervision import children
from config.serving.supervision.handover import Predecessors
from config.serving.supervision.supervisor import Supervisor
from config.serving.worker import worker as worker_module
from config.serving.worker.worker import BufferingWorker
from tests.config.serving.looping import read_all
from tests.paths import ROOT


def test_children_can_import_the_supervisor_before_django_is_set_up() -> None:
    """`multiprocessing` imports the module of a child's target first; `run_child` sets Django up after that."""
    program = "import config.serving.supervision.children; from django.apps import apps; assert not apps.ready"
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_watcher_that_cannot_be_forked_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed fork must not end everything, including the web server."""
    started: list[str] = []
    dead, alive = Mock(exitcode=1), Mock()
    dead.is_alive.return_value = False

    def start(name: str, *_: object) -> object:
        started.append(name)
        if len(started) < 3:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return alive

    monkeypatch.setattr("config.serving.supervision.child_starts.start_child", start)
    watcher: Any = Supervisor()._watcher
    watcher.child = dead
    moments = iter(range(0, 1000, 100))
    monkeypatch.setattr("config.serving.supervision.watcher_process.time.monotonic", lambda: float(next(moments)))
    while watcher.child is dead:
        watcher.look_after()
    assert started == ["watcher"] * 3
    assert watcher.child is alive


NO_ROOM = BlockingIOError(errno.EAGAIN, "No")


@pytest.fixture
def arbiter() -> Iterator[SteadyArbiter]:
    """An arbiter that listens and has no living worker."""
    made = SteadyArbiter.__new__(SteadyArbiter)
    made.log, made.WORKERS, made.SIG_QUEUE, made.pid = Mock(), {}, queue.SimpleQueue(), os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        made.LISTENERS = [listener]
        yield made


def test_a_worker_that_cannot_be_forked_is_tried_again(arbiter: SteadyArbiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """gunicorn's own arbiter ends if a fork fails."""
    monkeypatch.setattr(Arbiter, "spawn_worker", Mock(side_effect=[NO_ROOM, 17]))
    assert [arbiter.spawn_worker(), arbiter.spawn_worker()] == [None, 17]


@pytest.mark.parametrize("request_", [b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"POST /api/projects", b""])
def test_while_there_is_room_for_no_worker_at_all_everybody_is_answered(
    request_: bytes, arbiter: SteadyArbiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even clients that send half a request, or nothing. The arbiter still obeys signals."""
    monkeypatch.setattr(Arbiter, "spawn_worker", Mock(side_effect=[NO_ROOM, 17]))
    arbiter.spawn_worker()
    answers: list[bytes] = []

    def ask() -> None:
        with socket.create_connection(arbiter.LISTENERS[0].getsockname()) as client:
            client.sendall(request_)
            answers.append(read_all(client))
        arbiter.SIG_QUEUE.put(15)

    asking = threading.Thread(target=ask)
    asking.start()
    assert arbiter.wait_for_signals(timeout=60.0) == [15]
    asking.join()
    assert answers[0].startswith(b"HTTP/1.1 503 ")
    assert b"\r\nRetry-After: 5" in answers[0]
    arbiter.spawn_worker()
    assert not arbiter.has_no_room


def test_a_successor_refuses_nobody_before_it_has_taken_over(
    arbiter: SteadyArbiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share the socket: a worker of the other one would have served a client that this one refuses."""
    refuse = Mock()
    monkeypatch.setattr("config.serving.gunicorn.refuse_all", refuse)
    monkeypatch.setattr(Arbiter, "wait_for_signals", Mock(return_value=[]))
    arbiter.has_no_room, arbiter.took_over = True, c_int(0)
    arbiter.wait_for_signals()
    refuse.assert_not_called()
    arbiter.took_over.value = 1
    arbiter.wait_for_signals()
    refuse.assert_called_once()


@pytest.mark.parametrize("pids", [set(), {17}])
def test_the_web_server_knows_whether_it_is_a_successor(pids: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, made = Supervisor(predecessors=Predecessors(_pids=pids)), Mock()
    monkeypatch.setattr(supervisor, "_listen_to_signals", Mock())
    monkeypatch.setattr(supervisor, "_start", Mock(side_effect=InterruptedError))
    monkeypatch.setattr(children, "allow_many_files", Mock())
    monkeypatch.setattr("config.serving.gunicorn.SteadyArbiter", made)
    with pytest.raises(InterruptedError):
        supervisor.run()
    name, target, *arguments = supervisor._start.call_args.args  # type: ignore[attr-defined]  # it is a mock
    target(*arguments)
    assert (name, made.return_value.took_over) == ("web server", supervisor._booted if pids else None)


def test_a_worker_that_fails_early_does_not_become_a_second_arbiter(
    arbiter: SteadyArbiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in the copy is no lack of room."""
    monkeypatch.setattr(Arbiter, "spawn_worker", Mock(side_effect=OSError(errno.EIO, "No")))
    monkeypatch.setattr(os, "_exit", Mock(side_effect=SystemExit))
    arbiter.pid = os.getppid()
    with pytest.raises(SystemExit):
        arbiter.spawn_worker()
    assert not arbiter.has_no_room


def test_a_worker_without_a_thread_at_boot_does_not_end_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exit code 3 it would: gunicorn would conclude that the program cannot be loaded."""
    monkeypatch.setattr(worker_module, "BOOTS_EVERY", 0.0)
    worker = BufferingWorker.__new__(BufferingWorker)
    worker.booted, worker.log = False, Mock()
    for error in (RuntimeError("can't start new thread"), OSError(errno.EMFILE, "No"), MemoryError()):
        monkeypatch.setattr(Worker, "init_process", Mock(side_effect=error))
        with pytest.raises(SystemExit) as ended:
            worker.init_process()
        assert ended.value.code not in {0, Arbiter.WORKER_BOOT_ERROR, Arbiter.APP_LOAD_ERROR}
    monkeypatch.setattr(Worker, "init_process", Mock(side_effect=ValueError))
    with pytest.raises(ValueError, match=r"^$"):
        worker.init_process()
