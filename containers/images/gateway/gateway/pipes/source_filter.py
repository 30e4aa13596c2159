"""Lets the kernel drop the packets with which some addresses open connections.

To accept a connection and abort it takes a tenth of a millisecond of the gateway's processor, and who is aborted can
try again at once. The firewall's limit on new connections prevents that, but not every installation has a firewall.

A filter of the listening socket (socket(7), SO_ATTACH_FILTER) needs no privilege. A connection keeps the filter that
the socket had when it was opened. That filter does not block the connection itself, or it would not have been opened.
"""

import asyncio
import os
import socket
import struct
from ctypes import addressof, create_string_buffer
from ipaddress import IPv4Address

_ATTACH, _DETACH = 26, 27
"""SO_ATTACH_FILTER and SO_DETACH_FILTER of Linux, which `socket` does not have."""
_LOAD, _SKIP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
"""Instructions of a filter: load a word, skip some instructions if it equals a value, return a number of bytes."""
_SOURCE = 0xFFF00000 + 12
"""Where the IPv4 header has the source address. The first summand selects that header."""
_ALL, _NOTHING = 0xFFFFFFFF, 0
MOST = 200
"""The most addresses that are blocked at a time. An instruction can skip 255 others."""


class SourceFilter:
    def __init__(self) -> None:
        self._blocked: set[str] = set()
        self._listening: socket.socket | None = None

    def attach_to(self, listening: int) -> None:
        """Blocks addresses from now on, on the listening socket with this descriptor."""
        self._listening = socket.socket(fileno=os.dup(listening))

    def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def block(self, address: str, seconds: float) -> None:
        """Drops what the address sends to open connections, for so many seconds. Does nothing if it is blocked already,
        if too many addresses are, or if it is not one of IPv4."""
        if address in self._blocked or len(self._blocked) >= MOST or not _is_ipv4(address):
            return
        self._blocked.add(address)
        self._set()
        asyncio.get_running_loop().call_later(seconds, self._unblock, address)

    def _unblock(self, address: str) -> None:
        self._blocked.discard(address)
        self._set()

    def _set(self) -> None:
        if self._listening is None:
            return
        try:
            if self._blocked:
                _attach(self._listening, make_filter(self._blocked))
            else:
                self._listening.setsockopt(socket.SOL_SOCKET, _DETACH, 0)
        except OSError:  # a kernel without such filters; connections are still aborted
            self.close()


def make_filter(addresses: set[str]) -> list[bytes]:
    """Returns the instructions. Each is a code, two distances and a value (`linux/filter.h`)."""
    tests = [
        struct.pack("HBBI", _SKIP_IF_EQUAL, len(addresses) - number, 0, int(IPv4Address(address)))
        for number, address in enumerate(addresses)
    ]
    ends = [struct.pack("HBBI", _RETURN, 0, 0, size) for size in (_ALL, _NOTHING)]
    return [struct.pack("HBBI", _LOAD, 0, 0, _SOURCE), *tests, *ends]


def _is_ipv4(address: str) -> bool:
    try:
        IPv4Address(address)
    except ValueError:  # not known, because the connection is already gone
        return False
    return True


def _attach(listening: socket.socket, instructions: list[bytes]) -> None:
    program = create_string_buffer(b"".join(instructions))
    listening.setsockopt(socket.SOL_SOCKET, _ATTACH, struct.pack("HP", len(instructions), addressof(program)))
