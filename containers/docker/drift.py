"""What somebody has changed of a container since Berth made it: the networks that it is on, and who starts it again.

On another network no firewall rule of Berth's holds, and without its own an agent reaches nobody.
"""

from collections.abc import Mapping
from typing import Any

from containers.firewall.boot import restarts_by_engine
from containers.gateway.words import ADDRESS_LABEL
from containers.hardening import BY_ENGINE, NEVER_BY_ENGINE
from containers.vocabulary import QUARANTINE_LABEL

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


def has_other_policy(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether it has another policy than is wanted now. What is in quarantine never starts, and keeps its own."""
    return QUARANTINE_LABEL not in labels and read_policy(answer) not in {"", wanted_policy()}
