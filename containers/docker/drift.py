"""What somebody has changed of a container since Berth made it: the networks that it is on, who starts it again, how
much it may use, and what it may do.

On another network no firewall rule of Berth's holds, and without its own an agent reaches nobody.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from containers.docker_api.errors import EngineFailedError
from containers.errors import AddressUnusableError, EngineRefusedError
from containers.firewall.boot import restarts_by_engine
from containers.gateway.words import ADDRESS_LABEL
from containers.hardening import BY_ENGINE, LIMITS_LABEL, NEVER_BY_ENGINE, NO_NEW_PRIVILEGES
from containers.vocabulary import QUARANTINE_LABEL

_REFUSED = re.compile(r"address already in use|invalid address|user specified ip address", re.IGNORECASE)
"""What the engine says where somebody has the address, or it is none of the network."""

_LIMITS = re.compile(r"\d{1,18} \d{1,18} \d{1,9}", re.ASCII)

_EMPTY = (
    "Privileged", "CapAdd", "GroupAdd", "Devices", "DeviceRequests", "DeviceCgroupRules", "Binds", "VolumesFrom",
    "PortBindings", "PublishAllPorts",
)  # fmt: skip
"""What Berth gives no agent anything of."""

_OWN_SPACES = frozenset({"", "private"})

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


def has_changed(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether anything of an inspected container is otherwise than Berth makes it."""
    has_moved = has_strayed(answer) or has_other_address(answer, labels)
    return (
        has_moved
        or has_other_policy(answer, labels)
        or bool(other_limits(answer, labels))
        or has_more_privileges(answer, labels)
    )


def other_limits(answer: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, int]:
    """All limits with which it was made, where it has others now; else none.

    One that an engine leaves out because its kernel cannot count that (0, none, or -1 for swap) is no other one. What
    an older Berth made does not say with which it was.
    """
    made = _made_with(labels)
    host = answer.get("HostConfig") or {}
    is_other = any(_differs(name, host.get(name), limit) for name, limit in made.items())
    return made if is_other else {}


def _made_with(labels: Mapping[str, str]) -> dict[str, int]:
    if QUARANTINE_LABEL in labels or not _LIMITS.fullmatch(labels.get(LIMITS_LABEL, "")):
        return {}
    memory, nano_cpus, pids = map(int, labels[LIMITS_LABEL].split())
    return {"Memory": memory, "MemorySwap": memory, "NanoCpus": nano_cpus, "PidsLimit": pids}


def _differs(name: str, found: object, made: int) -> bool:
    if found is None or (name != "PidsLimit" and found in {0, -1}):
        return False
    return found != made


def has_more_privileges(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether it may do more than any agent of Berth's: somebody made it anew by hand, with the labels of the first."""
    if not _made_with(labels):
        return False
    host = answer.get("HostConfig") or {}
    is_open = not host.get("ReadonlyRootfs") or _is_unconfined(host.get("SecurityOpt") or [])
    mounts = host.get("Mounts") or []
    return is_open or _is_shared(host) or any(map(host.get, _EMPTY)) or not all(map(_is_own_volume, mounts))


def _is_unconfined(security: Collection[str]) -> bool:
    """Whether it lacks what Berth gives it, or has what takes a confinement away: of AppArmor, SELinux or seccomp."""
    others = [each for each in security if each != NO_NEW_PRIVILEGES and not each.startswith("seccomp=")]
    return bool(others) or "seccomp=unconfined" in security or NO_NEW_PRIVILEGES not in security


def _is_shared(host: Mapping[str, Any]) -> bool:
    """Whether it has a namespace of the host's or of another container's. Others call their own one private."""
    spaces = [host.get(name) or "" for name in ("PidMode", "IpcMode", "UTSMode", "UsernsMode")]
    network = str(host.get("NetworkMode") or "")
    return not _OWN_SPACES.issuperset(spaces) or network == "host" or network.startswith("container:")


def _is_own_volume(mount: Mapping[str, Any]) -> bool:
    """One of the engine's with options may be any folder of the host; Berth gives it a size at most."""
    driver = (mount.get("VolumeOptions") or {}).get("DriverConfig") or {}
    return mount["Type"] in {"volume", "tmpfs"} and set(driver.get("Options") or {}) <= {"size"}
