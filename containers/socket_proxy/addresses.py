"""The addresses that Berth's networks may have: private ones, and of a size that Berth makes."""

from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

_PRIVATE = tuple(IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
LARGEST, SMALLEST = 21, 29
"""Bits of the network part, from the largest network that Berth makes to the smallest part of one that it names."""


def address(value: object) -> str | None:
    try:
        found = IPv4Address(value) if isinstance(value, str) else None
    except AddressValueError:
        found = None
    return None if found is not None and any(found in each for each in _PRIVATE) else ""


def subnet(value: object) -> str | None:
    """Written as `10.0.0.0/22`: an engine may read other ways of writing it in another way."""
    try:
        found = IPv4Network(value) if isinstance(value, str) else None
    except (AddressValueError, NetmaskValueError, ValueError):
        found = None
    if found is None or str(found) != value or not LARGEST <= found.prefixlen <= SMALLEST:
        return ""
    return None if any(found.subnet_of(each) for each in _PRIVATE) else ""
