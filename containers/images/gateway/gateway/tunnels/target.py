"""Reads the target of a CONNECT, and decides whether it is allowed. Pure."""

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network
from typing import NamedTuple

HTTPS = 443
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.(?=[a-z0-9-]*[a-z])(?!0x[0-9a-f]*\Z){_LABEL}")
"""At least two labels, and the last one is not a number, decimal or hexadecimal, so that no notation of an IP address
matches."""
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_HIGHEST = 65535

_NOT_PUBLIC = tuple(map(IPv4Network, ("168.63.129.16/32", "192.88.99.0/24", "192.0.0.0/24")))
"""Networks to refuse that `is_global` does not exclude: Azure's metadata service, the former 6to4 relays, and addresses
that older versions of Python consider global."""


class Target(NamedTuple):
    host: str
    port: int


def read_target(text: str) -> Target | None:
    """Reads a host name with its port. Returns None for anything else, IP addresses included."""
    name, colon, number = text.rpartition(":")
    name = name.lower() if name.isascii() else ""  # some other letters are ASCII in lower case
    if not colon or not _NAME.fullmatch(name) or not _PORT.fullmatch(number) or int(number) > _HIGHEST:
        return None
    return Target(name, int(number))


def read_host(text: str) -> Target | None:
    """Reads an allowed host: a name, or `*.` and a name for all its subdomains, with a port unless it is 443. Returns
    None for anything else.
    """
    star, rest = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    found = read_target(rest if ":" in rest else f"{rest}:{HTTPS}")
    return found and Target(star + found.host, found.port)


def is_allowed(target: Target, hosts: Collection[Target]) -> bool:
    names = [target.host]
    rest = target.host
    while "." in rest:
        rest = rest.partition(".")[2]
        names.append(f"*.{rest}")
    return any(Target(name, target.port) in hosts for name in names)


def is_public(address: str) -> bool:
    """Whether the IPv4 address is in the public internet. A name can resolve to any address, even a private one."""
    try:
        found = IPv4Address(address)
    except ValueError:
        return False
    return found.is_global and not found.is_multicast and not any(found in network for network in _NOT_PUBLIC)
