"""Work that another thread may do while the caller does something else. No caller waits for it without a time limit.

`threading.Thread.start` returns when the new thread has made its first step. It never returns if the thread dies before
that because it gets no memory (CPython issue 140746). Nothing here waits for a thread to begin without a time limit. If
no thread has begun the work when its result is needed, the caller does it. A process that gets no more threads
therefore keeps working, one task at a time.
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
"""Seconds for a result if nothing else limits the caller: more than any request may take."""


def begin_thread(act: Callable[[], object]) -> bool:
    """Runs `act` in a new thread, which does not keep the process from ending.

    Returns whether the kernel created the thread. It may still get no memory, and then does nothing.
    """
    try:
        _thread.start_new_thread(act, ())
    except (RuntimeError, MemoryError):
        return False
    return True


def begin_in_time(act: Callable[[], object], within: float) -> bool:
    """Runs `act` in a new thread that must begin within this many seconds. Returns False if `act` will not run."""
    turn, has_begun = threading.Lock(), threading.Lock()
    has_begun.acquire()

    def run() -> None:
        if turn.acquire(blocking=False):
            has_begun.release()
            act()

    return begin_thread(run) and (has_begun.acquire(timeout=within) or not turn.acquire(blocking=False))


class SideWork(Generic[R]):
    """A piece of work that is done once, by the thread that takes it first."""

    def __init__(self, act: Callable[[], R]) -> None:
        self._act = act
        self._turn, self._going_on = threading.Lock(), threading.Lock()
        self._going_on.acquire()
        self._result: R
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """Starts another thread to do the work. Returns whether the kernel created it."""
        return begin_thread(self.do)

    def do(self) -> None:
        """Does the work in this thread, unless another one has taken it. Raises nothing."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._result = self._act()
        except BaseException as error:  # noqa: BLE001 - raised again for the caller that asks for the result
            self._error = error
        finally:
            del self._act  # it may refer to objects that should be freed
            self._going_on.release()  # needs no memory

    @property
    def has_failed(self) -> bool:
        """Whether the work raised an error."""
        return self._error is not None

    def cancel(self) -> bool:
        """Prevents the work, and returns True, if no thread has begun it. Returns False otherwise."""
        return self._turn.acquire(blocking=False)

    def wait(self, within: float) -> bool:
        """Waits for the thread that has taken the work. Returns whether it was done within this many seconds."""
        if not self._going_on.acquire(timeout=max(0.0, within)):
            return False
        self._going_on.release()
        return True

    def result(self, within: float = LONGEST) -> R:
        """Returns the result, or raises the error of the work. Does the work here if no other thread has begun it.

        Raises `TimeoutError` if the other thread takes longer than `within` seconds.
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
    """Runs `act` on each item and returns the results in order.

    The caller works alongside up to `most` other threads, if there are free `places`. Once the caller has nothing left
    to do, it waits up to `within` seconds for each result. After an error nothing more is begun, and the first error is
    raised once the work that others have begun has ended, or after `after_error` seconds in total.
    """
    pieces = [SideWork(partial(act, each)) for each in given]
    left = list(pieces)

    def work_off() -> None:
        while left:
            with suppress(IndexError):  # another thread was quicker
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
    """Cancels the pieces that no thread has begun, and waits for the others, up to `within` seconds in total."""
    until = time.monotonic() + within
    for piece in [each for each in pieces if not each.cancel()]:
        piece.wait(until - time.monotonic())
