"""A worker that gets no more resources reports it, ends what it has begun, and is replaced."""

import _thread
import errno
import json
import threading
from collections.abc import Callable
from typing import NoReturn
from unittest.mock import Mock

import pytest

from config.reserve import RESERVE
from config.serving.worker import threads as threads_module
from config.serving.worker import worker as worker_module
from config.serving.worker.threads import Threads
from tests.config.serving.looping import Looping, read_all
from tests.config.serving.worker.application import LAST, Site, status_of
from tests.waiting import wait_until


@pytest.fixture
def _starved(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the kernel gives nothing more."""

    def refuse(*_: object) -> bool:
        RESERVE.spend()
        return False

    monkeypatch.setattr(RESERVE, "fill", refuse)
    monkeypatch.setattr(RESERVE, "is_spent", False)


def starve(server: Looping) -> None:
    assert server.worker.alive
    RESERVE.is_spent = True


def no_thread(*_: object) -> NoReturn:
    raise RuntimeError("can't start new thread")


def problem_of(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"\r\nRetry-After: 5" in head
    return status_of(answer), json.loads(body)["code"]


@pytest.mark.usefixtures("_starved")
def test_a_starved_worker_refuses_new_requests_and_answers_running_ones(server: Looping, site: Site) -> None:
    held = server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    wait_until(lambda: site.threads)
    starve(server)
    assert problem_of(server.ask(LAST)) == (503, "overloaded")
    site.hold.set()
    assert read_all(held).endswith(b"/held")
    assert site.paths == ["/held"]


def test_a_client_sending_a_request_is_kept_while_there_is_a_reserve(server: Looping) -> None:
    """A client that was disconnected in the middle of its request would never learn that it was refused."""
    sending = server.connect(b"POST /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n")
    server.wait_for_connections(1)
    listener, tried = Mock(), threading.Event()
    listener.accept.side_effect = OSError(errno.EMFILE, "Too many open files")

    def accept() -> None:
        assert RESERVE.fill()
        server.worker._accept(listener)
        tried.set()

    server.worker.loop.call_soon(accept)
    assert tried.wait(30)
    assert server.open_connections == 1
    sending.sendall(b"{}")
    assert status_of(read_all(sending)) in {200, 503}


def test_a_starved_worker_continues_once_it_gets_resources(server: Looping) -> None:
    starve(server)
    wait_until(lambda: not server.worker.is_starved)
    assert server.ask(LAST).endswith(b"/hello")


@pytest.mark.usefixtures("_starved")
def test_a_worker_that_stays_starved_is_replaced(
    server: Looping, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(worker_module, "STARVED_FOR", 0.0)
    starve(server)
    wait_until(lambda: not server.worker.alive)
    assert "Another one replaces it." in caplog.text


@pytest.mark.parametrize("path", ["/stream", "/download"])
def test_a_stream_that_finds_no_thread_is_refused(
    server: Looping, site: Site, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_thread, "start_new_thread", no_thread)
        answer = server.ask(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert problem_of(answer) == (503, "overloaded")
    assert not any(name.startswith("stream") for name in site.threads)
    assert server.ask(LAST).endswith(b"/hello")


def test_running_out_of_memory_outside_the_application_is_no_bad_request(
    server: Looping, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("config.serving.worker.answers.create", run_out)
        assert problem_of(server.ask(LAST)) == (503, "overloaded")


def test_a_delayed_start_happens_once_resources_return(server: Looping) -> None:
    tries, begun = iter([False, False, True]), threading.Event()

    def begin() -> bool:
        has_begun = next(tries)
        if has_begun:
            begun.set()
        return has_begun

    server.worker.begin_when_possible(begin)
    assert begun.wait(30)
    assert server.ask(LAST).endswith(b"/hello")  # no further attempt is made


def test_all_threads_of_requests_are_there_before_the_first_request(server: Looping) -> None:
    assert server.worker.threads.begun == server.worker.cfg.threads


def test_a_pool_with_fewer_threads_than_wanted_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    start = _thread.start_new_thread

    def start_one(act: Callable[[], object], arguments: tuple[()]) -> int:
        if started:
            no_thread()
        started.append(act)
        return start(act, arguments)

    pool, done = Threads(4, "few"), threading.Event()
    with monkeypatch.context() as patched:
        patched.setattr(_thread, "start_new_thread", start_one)
        pool.begin()
    assert pool.begun == 1
    assert pool.take(done.set)
    assert done.wait(30)
    pool.close()
    assert not pool.take(done.set)


def test_a_thread_that_dies_before_its_first_step_blocks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that gets no memory dies like this."""
    monkeypatch.setattr(threads_module, "BEGINS_WITHIN", 0.01)
    pool = Threads(2, "none")
    with monkeypatch.context() as patched:
        patched.setattr(_thread, "start_new_thread", lambda *_: 0)
        pool.begin()
        assert not pool.take(pytest.fail)
    assert pool.begun == 0
    pool.close()


def test_no_error_of_its_work_ends_a_thread(caplog: pytest.LogCaptureFixture) -> None:
    def run_out() -> None:
        raise MemoryError

    pool, done = Threads(1, "one"), threading.Event()
    assert pool.take(run_out)
    assert pool.take(done.set)
    assert done.wait(30)
    assert "A thread's work failed." in caplog.text
    pool.close()
