"""Finds the name servers that the engine's resolver asks for agents and that need a rule."""

from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path

_RESOLVER_FILES = ("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")


def read_resolvers(files: Iterable[str] = _RESOLVER_FILES) -> list[str]:
    """Returns the host's name servers, which Docker's resolver in a container asks from the container's own address."""
    paths = map(Path, files)
    return parse_resolvers("\n".join(path.read_text(errors="replace") for path in paths if path.is_file()))


def parse_resolvers(text: str) -> list[str]:
    """Returns the name servers of a `resolv.conf` that need a rule."""
    words = [line.split() for line in text.splitlines()]
    return need_rules(word[1].partition("%")[0] for word in words if len(word) > 1 and word[0] == "nameserver")


def need_rules(addresses: Iterable[str]) -> list[str]:
    """Returns those of these name servers that are asked from an agent's own address."""
    return [address for address in dict.fromkeys(addresses) if _needs_rule(address)]


def _needs_rule(address: str) -> bool:
    """Returns False for loopback addresses, which Docker asks from the host's side, where none of our rules applies."""
    try:
        return not ip_address(address).is_loopback
    except ValueError:
        return False
