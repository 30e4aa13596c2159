"""Keeps descriptors and memory in reserve for a time in which the process gets no more.

Without it, a process at its limit can neither report that nor finish what it has begun. The code that meets the limit
spends the reserve. The code that watches the process fills it again, which shows that the kernel gives resources again.
"""

import errno
import mmap
import os
import threading
from contextlib import suppress

DESCRIPTORS = 32
MEMORY = 32 * 1024 * 1024
"""Bytes of address space. Nothing writes to them, so they use no memory of the machine."""

_NO_MORE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}
_NO_THREAD = "can't start new thread"


class Reserve:
    """The reserve of this process. Any thread may call its methods. It is empty before the first `fill`."""

    def __init__(self) -> None:
        self._changed = threading.Lock()
        self._descriptors: list[int] = []
        self._memory: mmap.mmap | None = None
        self.is_spent = False

    def fill(self) -> bool:
        """Takes what is missing. Returns whether the reserve is full; if it cannot be filled, it is spent."""
        with self._changed:
            try:
                if self._memory is None:
                    self._memory = mmap.mmap(-1, MEMORY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                while len(self._descriptors) < DESCRIPTORS:
                    self._descriptors.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            except (OSError, MemoryError):
                self._give_back()
                self.is_spent = True
            else:
                self.is_spent = False
        return not self.is_spent

    def spend(self) -> bool:
        """Gives the reserve to work that has begun. Returns whether there was anything to give."""
        with self._changed:
            if self._memory is None and not self._descriptors:
                return False
            self._give_back()
            self.is_spent = True
            return True

    def close(self) -> None:
        """Empties the reserve permanently; nothing waits for it."""
        with self._changed:
            self._give_back()
            self.is_spent = False

    def _give_back(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
        while self._descriptors:
            os.close(self._descriptors.pop())


RESERVE = Reserve()


def is_starvation(error: BaseException | None) -> bool:
    """Returns whether the error, or its cause, is that this process got no descriptor, memory or thread.

    Errors of libraries do not always name their cause: for these the kernel is asked. Spends the reserve if that helps.
    """
    if error is None:
        return False
    if _follows_from_no_thread(error):
        return True
    if not (_follows_from_no_room(error) or RESERVE.is_spent or _gets_nothing()):
        return False
    RESERVE.spend()
    return True


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        following = following.__cause__ or following.__context__
    return found


def _follows_from_no_room(error: BaseException) -> bool:
    return any(
        isinstance(each, MemoryError) or (isinstance(each, OSError) and each.errno in _NO_MORE)
        for each in _chain(error)
    )


def _follows_from_no_thread(error: BaseException) -> bool:
    return any(isinstance(each, RuntimeError) and _NO_THREAD in str(each) for each in _chain(error))


def _gets_nothing() -> bool:
    with suppress(OSError):
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        return False
    return True
