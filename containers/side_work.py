"""Work that another thread may do while the caller does something else, and that no caller waits for without an end.

`threading.Thread.start` returns when the new thread has made its first step: never, where it dies before that because
it finds no memory (CPython's issue 140746). Nothing here waits without a bound for a thread to begin. What no thread
has begun when its result is needed, the caller does itself; so a process that gets no more threads goes on, and does
one thing at a time.
"""

import _thread
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

R = TypeVar("R")
T = TypeVar("T")

LONGEST = 60.0
"""Seconds for a result where nothing else limits the caller: more than any request may take."""


def begin_thread(act: Callable[[], object]) -> bool:
    """Does this in a thread of its own, which keeps no process from ending.

    Returns whether the kernel gave one. It may find no memory all the same, and then does nothing.
    """
    try:
        _thread.start_new_thread(act, ())
    except (RuntimeError, MemoryError):
        return False
    return True


def begin_in_time(act: Callable[[], object], within: float) -> bool:
    """Does this in a thread of its own that begins within so many seconds. Returns False where it will not be done."""
    turn, has_begun = threading.Lock(), threading.Lock()
    has_begun.acquire()

    def run() -> None:
        if turn.acquire(blocking=False):
            has_begun.release()
            act()

    return begin_thread(run) and (has_begun.acquire(timeout=within) or not turn.acquire(blocking=False))


class SideWork(Generic[R]):
    """One piece of work, which is done once: by the thread that takes it first."""

    def __init__(self, act: Callable[[], R]) -> None:
        self._act = act
        self._turn, self._going_on = threading.Lock(), threading.Lock()
        self._going_on.acquire()
        self._result: R
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """Has another thread do it. Returns whether the kernel gave one."""
        return begin_thread(self.do)

    def do(self) -> None:
        """Does it here, unless somebody has taken it. Raises nothing."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._result = self._act()
        except BaseException as error:  # noqa: BLE001 - it is the caller's, who asks for the result
            self._error = error
        finally:
            del self._act  # it may hold what should not stay
            self._going_on.release()  # takes no memory

    @property
    def has_failed(self) -> bool:
        """Whether it has raised something."""
        return self._error is not None

    def cancel(self) -> bool:
        """Returns whether nobody has begun it, and so nobody will."""
        return self._turn.acquire(blocking=False)

    def wait(self, within: float) -> bool:
        """Returns whether it was done in time, a number of seconds, by those who have taken it."""
        if not self._going_on.acquire(timeout=max(0.0, within)):
            return False
        self._going_on.release()
        return True

    def result(self, within: float = LONGEST) -> R:
        """What came of it, or what it raised. The caller does it here where nobody else has begun.

        Raises `TimeoutError` where the other thread takes longer than so many seconds.
        """
        self.do()
        if not self.wait(within):
            raise TimeoutError("Another thread has not done its part in time.")
        if self._error is not None:
            raise self._error
        return self._result


def do_side_by_side(
    act: Callable[[T], R], given: Sequence[T], *, places: threading.BoundedSemaphore, most: int, within: float,
    after_error: float = 0.0,
) -> list[R]:  # fmt: skip
    """The results in the order of what is given. The caller has a hand in it, and up to `most` other threads, as far as
    there are places. Each result may take `within` seconds once the caller has nothing more to do. Raises the first
    error, and begins nothing more; what others have begun it waits for before, up to `after_error` seconds in all.
    """
    pieces = [SideWork(partial(act, each)) for each in given]
    left = list(pieces)

    def work_off() -> None:
        while left:
            with suppress(IndexError):  # another one was quicker
                piece = left.pop(0)
                piece.do()
                if piece.has_failed:
                    left.clear()

    def help_out() -> None:
        if places.acquire(blocking=False):
            try:
                work_off()
            finally:
                places.release()

    for _ in range(min(most, len(pieces) - 1)):
        begin_thread(help_out)
    work_off()
    return _results_of(pieces, within, after_error)


def _results_of(pieces: Sequence[SideWork[R]], within: float, after_error: float) -> list[R]:
    try:
        if failed := next((piece for piece in pieces if piece.has_failed), None):
            failed.result()
        return [piece.result(within) for piece in pieces]
    finally:
        if any(piece.has_failed for piece in pieces):
            _wait_for_begun(pieces, after_error)


def _wait_for_begun(pieces: Sequence[SideWork[R]], within: float) -> None:
    """And has nobody begin the others."""
    until = time.monotonic() + within
    for piece in [each for each in pieces if not each.cancel()]:
        piece.wait(until - time.monotonic())
