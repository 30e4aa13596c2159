"""Makes system calls that a profile may refuse. Runs inside a container.

Arguments are -1 by default, so a call that the profile lets through fails in the kernel.
"""

import ctypes
import errno
import json
import mmap
import os
import platform
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any

from tests.security.inside.syscall_table import numbers

_libc = ctypes.CDLL(None, use_errno=True)
_FAMILIES = 46
"""AF_MAX of Linux 6.18."""

_TYPES = range(16)
"""SOCK_TYPE_MASK: the bits that the kernel checks. There are 1 to 6, and 10, which is SOCK_PACKET."""

_FLAGS = socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
_PROTOCOLS = 263
"""IPPROTO_MAX."""

_NETLINKS = 32
"""MAX_LINKS."""

_LIMITS = 16
"""RLIM_NLIMITS."""

_NEGATIVE = ctypes.c_long(-1)
X32 = 0x40000000
"""Marks the numbers of the x32 calls, which 64-bit programs may make if the kernel has them."""

NAMESPACE_FLAGS = {
    "CLONE_NEWNS": 0x00020000,
    "CLONE_NEWCGROUP": 0x02000000,
    "CLONE_NEWUTS": 0x04000000,
    "CLONE_NEWIPC": 0x08000000,
    "CLONE_NEWUSER": 0x10000000,
    "CLONE_NEWPID": 0x20000000,
    "CLONE_NEWNET": 0x40000000,
}

# mov eax, 20 (getpid of 32-bit programs); int 0x80; ret
_COMPATIBLE_GETPID = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"


class _Trap:
    """Records a SIGSYS, with which a profile may refuse a call."""

    sprung = False

    @classmethod
    def spring(cls, _number: int, _frame: FrameType | None) -> None:
        cls.sprung = True


def call(number: int, *arguments: int) -> str:
    """Returns what the kernel answers: the name of an error, `SIGSYS`, or `done`. Closes a file that was opened."""
    _Trap.sprung = False
    result = _raw(number, *arguments)
    if _Trap.sprung:
        return "SIGSYS"
    if result == -1:
        return errno.errorcode[ctypes.get_errno()]
    if result > 2:
        os.close(result)
    return "done"


def _raw(number: int, *arguments: int) -> int:
    padded = [ctypes.c_long(argument) for argument in arguments] + [_NEGATIVE] * (6 - len(arguments))
    result: int = _libc.syscall(ctypes.c_long(number), *padded)
    return result


def in_child(attempt: Callable[[], int]) -> str:
    """Returns the result of an attempt that may end the process: `done`, or the name of an error or a signal."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGSYS, signal.SIG_DFL)
        os._exit(attempt())
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    code = os.WEXITSTATUS(status)
    return errno.errorcode[code] if code else "done"


def grouped(answers: Mapping[str, str]) -> dict[str, str]:
    """Returns each answer with the calls that got it, separated by commas,
    because a line of a log has room for 16 KB."""
    groups: dict[str, list[str]] = {}
    for name, answer in answers.items():
        groups.setdefault(answer, []).append(name)
    return {answer: ",".join(names) for answer, names in groups.items()}


def call_all() -> dict[str, str]:
    """Returns the answer to each of `CALLS`."""
    calls: dict[str, int] = json.loads(os.environ["CALLS"])
    return grouped({name: call(number) for name, number in calls.items()})


def open_sockets() -> dict[str, dict[str, str]]:
    """Returns the answers for sockets of every family and type, every protocol of IP and netlink, and for pairs."""
    made, paired = numbers()["socket"], numbers()["socketpair"]
    families = range(_FAMILIES)
    return {
        "families": grouped(
            {f"{family} {kind}": call(made, family, kind, 0) for family in families for kind in _TYPES}
        ),
        "disguised": grouped({f"{family}": call(made, family | 1 << 32, 1, 0) for family in families}),
        "protocols": grouped({f"{number}": call(made, 2, 1, number) for number in range(_PROTOCOLS)}),
        "protocols6": grouped({f"{number}": call(made, 10, 1, number) for number in range(_PROTOCOLS)}),
        "datagrams": grouped({f"{number}": call(made, 2, 2, number) for number in range(_PROTOCOLS)}),
        "datagrams6": grouped({f"{number}": call(made, 10, 2, number) for number in range(_PROTOCOLS)}),
        "disguised types": grouped({f"{kind}": call(made, 2, kind | 1 << 32 | _FLAGS, 0) for kind in _TYPES}),
        "netlink": grouped({f"{number}": call(made, 16, 3, number) for number in range(_NETLINKS)}),
        "pairs": grouped({f"{family}": call(paired, family, 1, 0) for family in families}),
    }


def change_limits() -> dict[str, dict[str, str]]:
    """Returns the answers to asking for each limit, and to setting it to what it is, also with bits that the kernel
    does not read."""
    ask, change = numbers()["prlimit64"], numbers()["setrlimit"]
    found = ctypes.create_string_buffer(16)
    place = ctypes.addressof(found)
    answers: dict[str, dict[str, str]] = {"asked": {}, "set": {}, "set with the older call": {}, "disguised": {}}
    for limit in range(_LIMITS):
        answers["asked"][f"{limit}"] = call(ask, 0, limit, 0, place)
        answers["set"][f"{limit}"] = call(ask, 0, limit, place, 0)
        answers["set with the older call"][f"{limit}"] = call(change, limit, place)
        answers["disguised"][f"{limit}"] = call(ask, 0, limit | 1 << 32, place, 0)
    return {how: grouped(each) for how, each in answers.items()}


def speak_other_languages() -> dict[str, str]:
    """Returns the answers to calls of the other architectures that an x86-64 kernel understands."""
    if platform.machine() != "x86_64":
        return {}
    return {"int 0x80": in_child(_call_compatible), "x32": in_child(lambda: _call_x32("getpid"))}


def _call_x32(name: str) -> int:
    return ctypes.get_errno() if _raw(numbers("x86_64")[name] | X32) == -1 else 0


def _call_compatible() -> int:
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(_COMPATIBLE_GETPID)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return 0 if ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0 else errno.ENOSYS


def clone_into() -> dict[str, str]:
    """Returns the answers to clones with each of the flags that create a namespace."""
    clone = numbers()["clone"]
    return {name: in_child(partial(_clone, clone, flag)) for name, flag in NAMESPACE_FLAGS.items()}


def _clone(number: int, flags: int) -> int:
    """Both processes return from the call; the new one ends at once."""
    result: int = _libc.syscall(ctypes.c_long(number), ctypes.c_ulong(flags | signal.SIGCHLD), *[ctypes.c_long(0)] * 4)
    if result == 0:
        os._exit(0)
    return ctypes.get_errno() if result == -1 else 0


def try_all() -> dict[str, Any]:
    signal.signal(signal.SIGSYS, _Trap.spring)
    return {
        "calls": call_all(),
        "sockets": open_sockets(),
        "limits": change_limits(),
        "clones": clone_into(),
        "other architectures": speak_other_languages(),
    }
