"""What somebody has changed of a container since Berth made it: the networks that it is on, and who starts it again.

On another network no firewall rule of Berth's holds, and without its own an agent reaches nobody.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from containers.docker_api.errors import EngineFailedError
from containers.errors import AddressUnusableError, EngineRefusedError
from containers.firewall.boot import restarts_by_engine
from containers.gateway.words import ADDRESS_LABEL
from containers.hardening import BY_ENGINE, NEVER_BY_ENGINE
from containers.vocabulary import QUARANTINE_LABEL

_REFUSED = re.compile(r"address already in use|invalid address|user specified ip address", re.IGNORECASE)
"""What the engine says where somebody has the address, or it is none of the network."""

_DEFAULT = {"default": "bridge"}
"""What the engine calls the network of a container that was made with none."""


def wanted_policy() -> str:
    return BY_ENGINE if restarts_by_engine() else NEVER_BY_ENGINE


def read_networks(answer: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    """The network with which the container was made, and those on which it is: of a row of the list, or inspected.

    Where the engine does not say on which it is, that is the one with which it was made. Raises `TypeError` for names
    that are no text.
    """
    made_with = (answer.get("HostConfig") or {}).get("NetworkMode") or ""
    networks = (answer.get("NetworkSettings") or {}).get("Networks")
    if networks is None:
        networks = {made_with: None}
    if not isinstance(networks, Mapping) or not all(isinstance(name, str) for name in (made_with, *networks)):
        raise TypeError
    return _DEFAULT.get(made_with, made_with), frozenset(networks)


def read_policy(answer: Mapping[str, Any]) -> str:
    """Of an inspected container. Empty where the engine does not say."""
    policy = (answer.get("HostConfig") or {}).get("RestartPolicy")
    name = (policy["Name"] or NEVER_BY_ENGINE) if policy else ""
    if not isinstance(name, str):
        raise TypeError
    return name


def has_strayed(answer: Mapping[str, Any]) -> bool:
    """Whether the container is on other networks than the one with which it was made."""
    made_with, networks = read_networks(answer)
    return networks != {made_with}


def has_other_address(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether it is on its network with another address than its own, by which the gateway knows it."""
    own = labels.get(ADDRESS_LABEL)
    made_with, networks = read_networks(answer)
    if not own or made_with not in networks:
        return False
    endpoint = ((answer.get("NetworkSettings") or {}).get("Networks") or {}).get(made_with)
    return isinstance(endpoint, Mapping) and (endpoint.get("IPAMConfig") or {}).get("IPv4Address") != own


def is_at(address: str | None, labels: Mapping[str, str]) -> bool:
    """Whether the container was made with this address; None is for one that knows no gateway."""
    return labels.get(ADDRESS_LABEL, "") == (address or "")


@contextmanager
def telling_of_address(labels: Mapping[str, str]) -> Iterator[None]:
    """Raises `AddressUnusableError` where the engine refuses the container's own address."""
    try:
        yield
    except (EngineRefusedError, EngineFailedError) as error:
        if ADDRESS_LABEL in labels and _REFUSED.search(str(error)):
            raise AddressUnusableError from error
        raise


def has_other_policy(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether it has another policy than is wanted now. What is in quarantine never starts, and keeps its own."""
    return QUARANTINE_LABEL not in labels and read_policy(answer) not in {"", wanted_policy()}
