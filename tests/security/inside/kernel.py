"""Tries to escape from a container through the kernel. Each attempt raises OSError if it is prevented.

The same attempts are made in a privileged container, in which all must succeed: an attempt that fails there as well
would prove nothing.
"""

import ctypes
import os
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.security.inside.syscall_table import numbers

STRANGER = "stranger"
"""An argument of the process of another user that the test starts next to the agent."""

_libc = ctypes.CDLL(None, use_errno=True)
_MS_REMOUNT, _MS_BIND = 32, 4096
_CLONE_NEWUSER, _CLONE_NEWNS = 0x10000000, 0x00020000
_PTRACE_TRACEME, _PTRACE_ATTACH, _PTRACE_DETACH = 0, 16, 17
_AF_NETLINK, _NETLINK_NETFILTER = 16, 12
_SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/docker/metrics.sock")


def _call(function: str, *arguments: object) -> int:
    result: int = getattr(_libc, function)(*arguments)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _open_to_write(path: str) -> Callable[[], object]:
    """Writes nothing: it is bad enough if the file can be opened, and the kernel is the real one."""

    def attempt() -> None:
        os.close(os.open(path, os.O_WRONLY))

    return attempt


def _make(path: str) -> Callable[[], object]:
    def attempt() -> None:
        Path(path).write_text("been here")
        Path(path).unlink()

    return attempt


def _make_device() -> None:
    node = Path("/tmp/null")
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    node.unlink()


def _find_disk() -> None:
    found = [name for name in os.listdir("/dev") if stat.S_ISBLK(os.stat(f"/dev/{name}").st_mode)]  # noqa: PTH116, PTH208 - as agents do
    os.close(os.open(f"/dev/{found[0]}" if found else "/dev/no-disk-to-be-seen", os.O_RDONLY))


def _become_root_by_setuid() -> None:
    """Starts a setuid program of root's as the agent's user."""
    agent = {"user": 10001, "group": 10001} if os.geteuid() == 0 else {}
    done = subprocess.run(["/probe/setuid-id", "-u"], capture_output=True, check=False, text=True, **agent)  # type: ignore[call-overload]  # of ints
    if done.stdout.strip() != "0":
        raise PermissionError(f"it runs as {done.stdout.strip() or done.stderr.strip()}")


def _trace_stranger() -> None:
    stranger = _find_stranger()
    _call("ptrace", _PTRACE_ATTACH, stranger, None, None)
    os.waitpid(stranger, 0x40000000)  # __WALL
    _call("ptrace", _PTRACE_DETACH, stranger, None, None)


def _read_memory_of_stranger() -> None:
    os.close(os.open(f"/proc/{_find_stranger()}/mem", os.O_RDONLY))


def _find_stranger() -> int:
    for _ in range(1200):  # two minutes, for a busy machine
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if STRANGER.encode() in path.read_bytes().split(b"\0"):
                return int(path.parent.name)
        time.sleep(0.1)
    raise RuntimeError("The test has not started the other process.")


def _ask_engine() -> None:
    path = next((path for path in _SOCKETS if Path(path).exists()), _SOCKETS[0])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as engine:
        engine.connect(path)


def _run_from_tmp() -> None:
    program = Path("/tmp/program")
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    subprocess.run([str(program)], check=True)


def _cgroup_limit() -> str:
    old, new = "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"
    return old if Path(old).exists() else new


ATTEMPTS: dict[str, Callable[[], object]] = {
    "write into the root directory": _make("/been-here"),
    "write into /etc": _make("/etc/been-here"),
    "write among the programs": _make("/usr/bin/been-here"),
    "write into the agent's own code": _make("/opt/agent/been-here"),
    "run a program from /tmp": _run_from_tmp,
    "mount a file system": lambda: _call("mount", b"none", b"/mnt", b"tmpfs", 0, None),
    "bind a directory": lambda: _call("mount", b"/usr", b"/mnt", None, _MS_BIND, None),
    "make the root file system writable": lambda: _call("mount", None, b"/", None, _MS_REMOUNT, None),
    "unmount": lambda: _call("umount2", b"/mnt", 0),
    "change the root directory": lambda: os.chroot("/"),
    "make a user namespace": lambda: _in_child(lambda: _call("unshare", _CLONE_NEWUSER)),
    "make a mount namespace": lambda: _in_child(lambda: _call("unshare", _CLONE_NEWNS)),
    "enter a namespace": lambda: _call("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0),
    "make a device": _make_device,
    "open a disk": _find_disk,
    "read the kernel's memory": lambda: os.close(os.open("/proc/kcore", os.O_RDONLY)),
    "write to the kernel's log": _open_to_write("/dev/kmsg"),
    "ask for a SysRq": _open_to_write("/proc/sysrq-trigger"),
    "say what handles a core dump": _open_to_write("/proc/sys/kernel/core_pattern"),
    "set a kernel parameter": _open_to_write("/proc/sys/vm/overcommit_memory"),
    "raise its own limits": _open_to_write(_cgroup_limit()),
    "change the host name": lambda: _call("sethostname", b"been-here", 9),
    "use the kernel's keys": lambda: _call("syscall", numbers()["keyctl"], 0, -3, 0),
    "open a socket to the hypervisor": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close(),  # type: ignore[attr-defined, unused-ignore]  # Linux only
    "speak to the packet filter": lambda: socket.socket(_AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER).close(),
    "set up io_uring": lambda: os.close(
        _call("syscall", numbers()["io_uring_setup"], 1, ctypes.create_string_buffer(120))
    ),
    "take asynchronous I/O from the whole machine": lambda: _call(
        "syscall", numbers()["io_setup"], 1, ctypes.byref(ctypes.c_ulong(0))
    ),
    "make everybody's disk write": lambda: _call("syncfs", os.open("/dev/shm", os.O_RDONLY)),
    "trace a process of its own": lambda: _in_child(lambda: _call("ptrace", _PTRACE_TRACEME, 0, None, None)),
    "watch a whole file system": lambda: os.close(_call("fanotify_init", 0, os.O_RDONLY)),
    "open a raw IP socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close(),
    "open a packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),  # type: ignore[attr-defined, unused-ignore]  # Linux only
    "become root": lambda: os.setuid(0),
    "become root through a setuid program": _become_root_by_setuid,
    "take root's group": lambda: os.setgroups([0]),
    "trace another user's process": _trace_stranger,
    "read another user's memory": _read_memory_of_stranger,
    "speak to the engine": _ask_engine,
}


def try_everything() -> dict[str, object]:
    """Returns the result of each attempt, `succeeded` or the kernel's refusal,
    and what the kernel says about this process."""
    return {"attempts": {name: _try(attempt) for name, attempt in ATTEMPTS.items()}, "facts": _facts()}


def _try(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{type(error).__name__}: {error}"
    return "succeeded"


def _in_child(attempt: Callable[[], object]) -> None:
    """For attempts that would change this process permanently."""
    child = os.fork()
    if not child:
        try:
            attempt()
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise OSError(code, os.strerror(code))


def _facts() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    limits = Path("/proc/self/limits").read_text().splitlines()
    return {
        **{name: value.strip() for name, _, value in (line.partition(":") for line in lines)},
        **{line[:26].strip(): line[26:].strip() for line in limits},
    }
