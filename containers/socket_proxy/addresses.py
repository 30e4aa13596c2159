"""Checks the addresses of Berth's networks, which must be private and of a size that Berth uses."""

from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

_PRIVATE = tuple(IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
LARGEST, SMALLEST = 21, 29
"""Bits of the network prefix, from the largest network that Berth creates to the smallest range that it uses."""


def address(value: object) -> str | None:
    try:
        found = IPv4Address(value) if isinstance(value, str) else None
    except AddressValueError:
        found = None
    return None if found is not None and any(found in each for each in _PRIVATE) else ""


def subnet(value: object) -> str | None:
    """Accepts only the form `10.0.0.0/22`, because an engine may interpret other forms differently."""
    try:
        found = IPv4Network(value) if isinstance(value, str) else None
    except (AddressValueError, NetmaskValueError, ValueError):
        found = None
    if found is None or str(found) != value or not LARGEST <= found.prefixlen <= SMALLEST:
        return ""
    return None if any(found.subnet_of(each) for each in _PRIVATE) else ""
