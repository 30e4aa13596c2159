"""What an image may declare. Pure rules about the `Config` of an inspected image.

Images come from strangers, and an engine carries out what they declare without being asked: it opens ports, makes
volumes outside all limits, and repeats their labels and their command in every list of containers.
"""

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from containers.agent_contract import DATA_PATH, RUN_PATH, SECRETS_PATH
from containers.agent_text import clean

MOST_PORTS = 100
"""With 131,070 of them, a start takes 15 seconds, during which the engine answers for no agent."""

MOST_VOLUMES = 8

LONGEST_LISTED = 16 * 1024
"""The most bytes of labels and command. A list of all containers, which has them, may be 8 MB long."""

LARGEST_CONFIG = 256 * 1024
"""The most bytes of the whole configuration, which every inspection of a container repeats."""

LONGEST_CHECK = 3600
"""The most seconds of a health check's interval, timeout and start period, until which an agent is only starting."""

SHORTEST_CHECK = 0.1
"""The fewest seconds of a health check's interval. The engine starts a program for each check, mostly outside the
agent's share of the processor: a tenth of a core for three checks a second."""

OWN_PLACES = frozenset({DATA_PATH, RUN_PATH, SECRETS_PATH, "/tmp"})  # noqa: S108 - a mount inside the container
"""Where each agent has a mount anyway."""

_SYSTEM = r"bin|boot|dev|etc|lib|lib32|lib64|libx32|proc|sbin|sys|usr"
_CLOSED = re.compile(rf"/|/({_SYSTEM})(/.*)?|({DATA_PATH}|{SECRETS_PATH})/.*")
"""Places that no mount may hide, because programs are there, or what agents keep."""
_PLAIN = re.compile(r"(/[A-Za-z0-9_@.+-]+)+")
_LONGEST_PATH, _SHOWN = 200, 80


def read_volumes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the places of the volumes that the image declares, in the form in which an engine mounts them."""
    return tuple(sorted({_normalize(str(path)) for path in config.get("Volumes") or ()}))


def find_fault(config: Mapping[str, Any]) -> str:
    """Returns in a sentence why no agent can have this image, or an empty text."""
    found = (rule(config) for rule in (_fault_of_ports, _fault_of_volumes, _fault_of_size, _fault_of_health_check))
    return next(filter(None, found), "")


def _fault_of_ports(config: Mapping[str, Any]) -> str:
    if (ports := len(config.get("ExposedPorts") or ())) <= MOST_PORTS:
        return ""
    return (
        f"The image declares {ports:,} ports, and more than {MOST_PORTS} slow down the engine for all agents. Remove "
        "EXPOSE from its Dockerfile: an agent needs no port."
    )


def _fault_of_volumes(config: Mapping[str, Any]) -> str:
    volumes = read_volumes(config)
    if len(volumes) > MOST_VOLUMES:
        return (
            f"The image declares {len(volumes):,} volumes, more than {MOST_VOLUMES}. Remove VOLUME from its Dockerfile."
        )
    if (closed := next((path for path in volumes if not _can_be_mounted(path)), None)) is None:
        return ""
    return (
        f"The image declares a volume at {clean(closed)[:_SHOWN]}, where an agent can have none. Remove this VOLUME "
        f"from its Dockerfile; what is to be kept belongs directly in {DATA_PATH}."
    )


def _fault_of_size(config: Mapping[str, Any]) -> str:
    listed = sum(len(json.dumps(config.get(name))) for name in ("Labels", "Entrypoint", "Cmd"))
    if listed > LONGEST_LISTED:
        return (
            f"The image's labels and command take {listed // 1024:,} KB, and every list of containers repeats them. "
            f"Shorten them to {LONGEST_LISTED // 1024} KB."
        )
    if (size := len(json.dumps(config))) > LARGEST_CONFIG:
        return f"The image's configuration takes {size // 1024:,} KB. Shorten it to {LARGEST_CONFIG // 1024} KB."
    return ""


def _fault_of_health_check(config: Mapping[str, Any]) -> str:
    check = config.get("Healthcheck") or {}
    spans = [check.get(name) or 0 for name in ("Interval", "Timeout", "StartPeriod")]
    if max(spans) <= LONGEST_CHECK * 1_000_000_000:
        return _fault_of_frequency(check)
    return (
        "The image's health check may take longer than an hour, during which nobody would know how its agents are. "
        "Shorten its interval, timeout and start period."
    )


def _fault_of_frequency(check: Mapping[str, Any]) -> str:
    """Without an interval, the engine takes its own of 30 seconds (5 until the agent has started)."""
    intervals = [check.get(name) or 0 for name in ("Interval", "StartInterval")]
    if all(not each or each >= SHORTEST_CHECK * 1_000_000_000 for each in intervals):
        return ""
    return (
        "The image's health check has an interval of less than 100 ms, and no agent's limits count what each check "
        "costs the engine. Lengthen its interval."
    )


def places_to_look_at(volumes: Sequence[str]) -> list[str]:
    """Returns every directory on the way to a mount, those above first."""
    found = set()
    for path in OWN_PLACES.union(volumes):
        parts = path.strip("/").split("/")
        found |= {f"/{'/'.join(parts[:number])}" for number in range(1, len(parts) + 1)}
    return sorted(found)


def _normalize(path: str) -> str:
    clean_path = posixpath.normpath(path)
    return f"/{clean_path.lstrip('/')}" if path.startswith("/") else clean_path


def _can_be_mounted(path: str) -> bool:
    is_plain = bool(_PLAIN.fullmatch(path)) and len(path) <= _LONGEST_PATH
    return is_plain and (path == "/dev/shm" or not _CLOSED.fullmatch(path))  # noqa: S108 - inside the container
