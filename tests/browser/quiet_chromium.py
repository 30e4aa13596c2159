#!/usr/bin/env python3
"""Starts Chromium so that it hears nothing of the machine's networks.

Where tests of an engine make or remove a network meanwhile, the browser would give up whatever it is loading, with
ERR_NETWORK_CHANGED. It learns of that from the kernel by a socket of the family AF_NETLINK, and goes without where it
gets none. The program is the one that BERTH_TEST_CHROMIUM names.
"""

import ctypes
import os
import platform
import struct
import sys

SOCKET = {"x86_64": 41, "aarch64": 198}
"""The number of socket(2)."""

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUALS, ANSWER = 0x20, 0x15, 0x06
"""Instructions of the packet filter: load a word, skip some if it is not this one, end (linux/bpf_common.h)."""
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 97
"""SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with EAFNOSUPPORT."""
NUMBER, FIRST_ARGUMENT = 0, 16
"""Offsets in struct seccomp_data."""
AF_NETLINK = 16


def refuse_netlink(socket: int) -> None:
    """Applies to this process and all that it starts. Without seccomp in the kernel, nothing changes."""
    steps = [
        (LOAD, 0, 0, NUMBER),
        (EQUALS, 0, 3, socket),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUALS, 0, 1, AF_NETLINK),
        (ANSWER, 0, 0, REFUSE),
        (ANSWER, 0, 0, ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    library = ctypes.CDLL(None)
    library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    library.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters, 0, 0)


if __name__ == "__main__":
    if number := SOCKET.get(platform.machine()):
        refuse_netlink(number)
    os.execv(os.environ["BERTH_TEST_CHROMIUM"], sys.argv)
