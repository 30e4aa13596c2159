"""Addresses as `iptables -S` writes them."""

from ipaddress import ip_network
from socket import AF_INET, AF_INET6, inet_ntop


def as_listed(network: str) -> str:
    """Returns the address or network as the source or destination of a rule: always with the length of its prefix."""
    found = ip_network(network)
    address = inet_ntop(AF_INET if found.version == 4 else AF_INET6, found.network_address.packed)
    return f"{address}/{found.prefixlen}"


def without_full_length(network: str) -> str:
    """Returns the address or network as an argument of the match `conntrack`: an address has no length of a prefix."""
    address, _, length = as_listed(network).partition("/")
    return address if int(length) == ip_network(network).max_prefixlen else f"{address}/{length}"
