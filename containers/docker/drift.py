"""Detects what someone has changed in a container since Berth created it: networks, restart policy, limits, privileges.

On another network Berth's firewall rules do not apply, and without its own network an agent reaches nothing.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from containers.docker_api.answers import read_flag, read_text
from containers.docker_api.errors import EngineFailedError
from containers.errors import AddressUnusableError, EngineRefusedError
from containers.firewall.boot import restarts_by_engine
from containers.gateway.vocabulary import ADDRESS_LABEL
from containers.hardening import BY_ENGINE, LIMITS_LABEL, NEVER_BY_ENGINE, NO_NEW_PRIVILEGES
from containers.vocabulary import QUARANTINE_LABEL

_REFUSED = re.compile(r"address already in use|invalid address|user specified ip address", re.IGNORECASE)
"""The engine's messages if another container has the address, or the address is not in the network."""

_LIMITS = re.compile(r"\d{1,18} \d{1,18} \d{1,9}", re.ASCII)

_OFF = ("Privileged", "PublishAllPorts")
_EMPTY = (
    "CapAdd", "GroupAdd", "Devices", "DeviceRequests", "DeviceCgroupRules", "Binds", "VolumesFrom", "PortBindings",
)  # fmt: skip
"""Settings that are off or empty in every agent that Berth creates."""

_OWN_SPACES = frozenset({"", "private"})

_DEFAULT = {"default": "bridge"}
"""The engine's name for the network of a container that was created without one."""


def wanted_policy() -> str:
    return BY_ENGINE if restarts_by_engine() else NEVER_BY_ENGINE


def read_networks(answer: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    """Returns the network with which the container was created, and the networks that it is on now.

    `answer` is a row of a list or an inspection. If the engine does not say which networks the container is on, or with
    which one it was created, it is taken to be on its own. Raises `TypeError` for names that are not text.
    """
    made_with = (answer.get("HostConfig") or {}).get("NetworkMode") or ""
    networks = (answer.get("NetworkSettings") or {}).get("Networks")
    if networks is None or made_with == "":
        networks = {made_with: None}
    if not isinstance(networks, Mapping) or not all(isinstance(name, str) for name in (made_with, *networks)):
        raise TypeError
    return _DEFAULT.get(made_with, made_with), frozenset(networks)


def read_policy(answer: Mapping[str, Any]) -> str:
    """Returns the restart policy of an inspected container, or an empty string if the engine does not say."""
    policy = (answer.get("HostConfig") or {}).get("RestartPolicy")
    name = (policy["Name"] or NEVER_BY_ENGINE) if policy else ""
    if not isinstance(name, str):
        raise TypeError
    return name


def has_strayed(answer: Mapping[str, Any]) -> bool:
    """Returns whether the container is on other networks than the one with which it was created."""
    made_with, networks = read_networks(answer)
    return networks != {made_with}


def has_other_address(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Returns whether its address differs from the one by which the gateway knows it."""
    own = labels.get(ADDRESS_LABEL)
    made_with, networks = read_networks(answer)
    if not own or made_with not in networks:
        return False
    endpoint = ((answer.get("NetworkSettings") or {}).get("Networks") or {}).get(made_with)
    return isinstance(endpoint, Mapping) and (endpoint.get("IPAMConfig") or {}).get("IPv4Address") != own


def is_at(address: str | None, labels: Mapping[str, str]) -> bool:
    """Returns whether the container was created with this address; None means that it uses no gateway."""
    return labels.get(ADDRESS_LABEL, "") == (address or "")


@contextmanager
def telling_of_address(labels: Mapping[str, str]) -> Iterator[None]:
    """Raises `AddressUnusableError` if the engine refuses the container's own address."""
    try:
        yield
    except (EngineRefusedError, EngineFailedError) as error:
        if ADDRESS_LABEL in labels and _REFUSED.search(str(error)):
            raise AddressUnusableError from error
        raise


def has_other_policy(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Returns whether its policy differs from the wanted one. Quarantined containers keep their own and never start."""
    return QUARANTINE_LABEL not in labels and read_policy(answer) not in {"", wanted_policy()}


def has_changed(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Returns whether anything in an inspected container differs from what Berth creates."""
    has_moved = has_strayed(answer) or has_other_address(answer, labels)
    return (
        has_moved
        or has_other_policy(answer, labels)
        or bool(other_limits(answer, labels))
        or has_more_privileges(answer, labels)
    )


def other_limits(answer: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, int]:
    """Returns all limits with which it was created if any of them differs now, or an empty dict.

    A limit that the engine omits because its kernel does not support it (0, none, or -1 for swap) does not count as
    different. Containers of an older Berth do not say with which limits they were created.
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
    if found is None:
        return False
    if not isinstance(found, int) or isinstance(found, bool):
        raise TypeError
    return found != made and (name == "PidsLimit" or found not in {0, -1})


def has_more_privileges(answer: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Returns whether it may do more than any agent of Berth: someone recreated it by hand with the same labels.

    Raises `LookupError` or `TypeError` for an answer that does not say so, because an agent must not be created again
    for that.
    """
    if not _made_with(labels):
        return False
    host = answer["HostConfig"]
    is_open = not read_flag(host["ReadonlyRootfs"]) or _is_unconfined(_read_words(host["SecurityOpt"]))
    mounts = host.get("Mounts") or []
    return is_open or _is_shared(host) or _has_any(host) or not all(map(_is_own_volume, mounts))


def _read_words(value: object) -> list[str]:
    if value is not None and not isinstance(value, list):
        raise TypeError
    return [read_text(each) for each in value or ()]


def _has_any(host: Mapping[str, Any]) -> bool:
    """Returns whether any of the settings is there that Berth never makes."""
    found = [host.get(name) for name in _EMPTY]
    if not all(each is None or isinstance(each, list | Mapping) for each in found):
        raise TypeError
    return any(found) or any(read_flag(host.get(name) or False) for name in _OFF)


def _is_unconfined(security: Collection[str]) -> bool:
    """Returns whether it lacks Berth's security options, or has one that weakens AppArmor, SELinux or seccomp."""
    others = [each for each in security if each != NO_NEW_PRIVILEGES and not each.startswith("seccomp=")]
    return bool(others) or "seccomp=unconfined" in security or NO_NEW_PRIVILEGES not in security


def _is_shared(host: Mapping[str, Any]) -> bool:
    """Returns whether it shares a namespace with the host or another container. Its own one is empty or "private"."""
    spaces = [read_text(host.get(name) or "") for name in ("PidMode", "IpcMode", "UTSMode", "UsernsMode")]
    network = read_text(host.get("NetworkMode") or "")
    return not _OWN_SPACES.issuperset(spaces) or network == "host" or network.startswith("container:")


def _is_own_volume(mount: Mapping[str, Any]) -> bool:
    """Returns whether the mount is a plain volume. Options could make it a host folder; Berth sets only a size."""
    driver = (mount.get("VolumeOptions") or {}).get("DriverConfig") or {}
    return read_text(mount["Type"]) in {"volume", "tmpfs"} and set(driver.get("Options") or {}) <= {"size"}
