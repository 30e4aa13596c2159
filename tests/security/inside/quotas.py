"""Uses up all that the kernel gives one user, or a little of it. Runs inside a container.

A greedy agent takes of each quota until the kernel refuses, and keeps it. A modest one reports whether it gets what any
program may need. Quotas that cannot be reached because seccomp refuses their calls (keys, namespaces, fanotify,
io_uring, perf) are tested in `test_seccomp`.
"""

import array
import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_F_GETPIPE_SZ = 1032
_PIPE = 65_536
"""Bytes of a pipe for a user below `fs.pipe-user-pages-soft`. Above that a pipe has a page or two."""

_INSTANCES = 100
"""With this many, which are fewer than the 128 that a user may have,
all watches are used up before the instances are."""

_IN_MODIFY = 2
_IPC_PRIVATE, _IPC_RMID, _SHM_LOCK = 0, 0, 11
_CLOCK_MONOTONIC, _SIGEV_NONE = 1, 1
_FILES = 200  # in one message; SCM_MAX_FD is 253


class _QueueAttributes(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_long), ("most", ctypes.c_long), ("size", ctypes.c_long), ("rest", ctypes.c_long * 5))


class _SignalEvent(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


def _call(function: str, *arguments: object) -> int:
    result: int = getattr(_libc, function)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


@dataclass
class Taker:
    """Everything that one process has taken."""

    kept: list[object] = field(default_factory=list)
    instances: list[int] = field(default_factory=list)
    watches: int = 0

    def inotify_watch(self) -> None:
        """Instances in turn watch the first file, then the second one, and so on."""
        number, turn = divmod(self.watches, _INSTANCES)
        path = f"/tmp/watched-{number}"
        if turn == 0:
            Path(path).touch()
        if len(self.instances) <= turn:
            self.instances.append(_call("inotify_init1", 0))
        _call("inotify_add_watch", self.instances[turn], path.encode(), ctypes.c_uint32(_IN_MODIFY))
        self.watches += 1

    def inotify_instance(self) -> None:
        _call("inotify_init1", 0)

    def pipe(self) -> None:
        ends = os.pipe()
        if fcntl.fcntl(ends[0], _F_GETPIPE_SZ) < _PIPE:
            raise OSError(errno.EDQUOT, "the pipe is a small one")

    def pending_signal(self) -> None:
        """A real-time signal that stays in the queue because nothing receives it."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
        _call("sigqueue", os.getpid(), int(signal.SIGRTMIN), ctypes.c_void_p(0))

    def timer(self) -> None:
        """Each has a place in the queue of signals."""
        event, timer = _SignalEvent(notify=_SIGEV_NONE), ctypes.c_void_p()
        _call("timer_create", _CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer))

    def message_queue(self) -> None:
        name = f"/queue-{len(self.kept)}".encode()
        attributes = _QueueAttributes(most=10, size=8192)
        self.kept.append(_call("mq_open", name, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600, ctypes.byref(attributes)))

    def locked_memory(self) -> None:
        """A shared segment, which is counted by user. Memory that a process locks itself is counted by process."""
        segment = _call("shmget", _IPC_PRIVATE, ctypes.c_size_t(4096), 0o600)
        try:
            _call("shmctl", segment, _SHM_LOCK, None)
        except OSError:
            _call("shmctl", segment, _IPC_RMID, None)
            raise

    def files_in_sockets(self) -> None:
        """Files that were sent and are not received."""
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.kept.append(ends)
        ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * _FILES))])


QUOTAS: dict[str, Callable[[Taker], None]] = {
    "inotify watches": Taker.inotify_watch,
    "pages of pipes": Taker.pipe,
    "files in sockets": Taker.files_in_sockets,
    "message queues": Taker.message_queue,
    "locked memory": Taker.locked_memory,
    "pending signals": Taker.pending_signal,
    "timers": Taker.timer,
    "inotify instances": Taker.inotify_instance,
}
"""In this order, so that no quota blocks the next one."""

_AT_MOST = 20_000_000
_keeper = Taker()


def take_all() -> dict[str, str]:
    """Returns the error with which each quota ended."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return {name: _exhaust(take) for name, take in QUOTAS.items()}


def _exhaust(take: Callable[[Taker], None]) -> str:
    for _ in range(_AT_MOST):
        try:
            take(_keeper)
        except OSError as error:
            return errno.errorcode[error.errno or 0]
    return "no end"


def need_all() -> dict[str, str]:
    """Returns the result of one attempt at each."""
    return {name: _need(take) for name, take in QUOTAS.items()}


def _need(take: Callable[[Taker], None]) -> str:
    try:
        take(_keeper)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "fine"
