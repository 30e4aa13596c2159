"""Work in a second thread is done once, by the first that takes it, and nobody waits for it forever."""

import _thread
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from containers.docker_api import read_limits
from containers.docker_api.read_limits import start_in_thread
from containers.errors import EngineUnavailableError
from containers.outbound.call_limits import time_limit
from containers.processes.side_work import SideWork, do_side_by_side
from tests.paths import ROOT

GUARD = 30.0

Start = Callable[[Callable[[], object], tuple[()]], int]


def no_thread(*_: object) -> int:
    raise RuntimeError("can't start new thread")


def one_that_dies(*_: object) -> int:
    """A thread that gets no memory for its first step dies like this."""
    return 0


NONE_BEGINS = pytest.mark.parametrize("start", [no_thread, one_that_dies])


@NONE_BEGINS
def test_the_caller_does_work_that_no_thread_has_begun(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    monkeypatch.setattr(_thread, "start_new_thread", start)
    assert start_in_thread(threading.get_ident)() == threading.get_ident()
    places = threading.BoundedSemaphore(2)
    doubled = do_side_by_side(lambda each: 2 * each, [1, 2, 3], places=places, most=2, within=GUARD)
    assert doubled == [2, 4, 6]


def test_a_free_thread_does_the_work() -> None:
    work = SideWork(threading.get_ident)
    assert work.begin()
    assert work.wait(GUARD)
    assert work.result() != threading.get_ident()
    assert not work.cancel()


def test_cancelled_work_is_not_done() -> None:
    work = SideWork(pytest.fail)
    assert work.cancel()
    work.do()
    assert not work.wait(0.0)


def test_its_error_is_the_callers() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        start_in_thread(fail)()


def test_a_thread_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_limits, "MARGIN", 0.0)
    begun, released = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        released.wait(GUARD)

    began = time.monotonic()
    try:
        with time_limit(0.2):
            finish = start_in_thread(hang)
            assert begun.wait(GUARD)
            with pytest.raises(EngineUnavailableError):
                finish()
    finally:
        released.set()
    assert time.monotonic() - began < GUARD


def test_work_runs_in_parallel_up_to_the_limit() -> None:
    places, met = threading.BoundedSemaphore(1), threading.Barrier(2, timeout=GUARD)
    threads = set()

    def meet(number: int) -> int:
        threads.add(threading.get_ident())
        met.wait()
        return number

    assert do_side_by_side(meet, [0, 1, 2, 3], places=places, most=3, within=GUARD) == [0, 1, 2, 3]
    assert len(threads) == 2


def test_the_first_error_ends_the_work() -> None:
    done = []

    def fail(number: int) -> None:
        done.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        do_side_by_side(fail, [0, 1], places=threading.BoundedSemaphore(1), most=0, within=GUARD)
    assert done == [0]


STARVED = """
import resource, threading, time
from containers.docker_api.read_limits import start_in_thread
for each in range(4):  # their stacks are kept for the next ones, so that the kernel has no part in it
    threading.Thread(target=time.sleep, args=(0.1,)).start()
while threading.active_count() > 1:
    time.sleep(0.01)
time.sleep(0.1)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), resource.RLIM_INFINITY))
print(start_in_thread(lambda: "done")())
"""


def test_a_process_without_memory_continues() -> None:
    """If the kernel gives a thread but no memory for its first step, Python's own `start` would wait forever."""
    assert resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", STARVED], cwd=ROOT, capture_output=True, text=True, timeout=GUARD, check=False
    )
    assert done.stdout == "done\n", done.stderr
