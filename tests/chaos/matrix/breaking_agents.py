"""Agents that harm their surroundings, and containers that people mix up."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import docker

from containers.vocabulary import INSTANCE_LABEL
from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation

LONG_LINE = "dd if=/dev/zero of=/proc/1/fd/1 bs=1048576 count=100"
FORK_BOMB = "bomb() { bomb & bomb & sleep 5; }; bomb"
TOO_MUCH_MEMORY = "dd if=/dev/zero of=/dev/null bs=200M count=1"


def _inside_each(script: str) -> Breaking:
    """Runs the script in each agent's container."""

    @contextmanager
    def run(installation: Installation) -> Iterator[None]:
        client = installation.instance.client
        for each in _containers(installation):
            with suppress(docker.errors.APIError):  # it is down, or was removed meanwhile
                client.exec_start(client.exec_create(each["Id"], ["sh", "-c", script]), detach=True)
        yield

    return run


def _containers(installation: Installation, *, all_states: bool = False) -> list[Any]:
    chosen = {"label": f"{INSTANCE_LABEL}={installation.instance.name}"}
    found: list[Any] = installation.instance.client.containers(all=all_states, filters=chosen)
    return found


@contextmanager
def names_swapped(installation: Installation) -> Iterator[None]:
    """Each container has the name of the next one."""
    client, found = installation.instance.client, _containers(installation, all_states=True)
    names = [each["Names"][0].removeprefix("/") for each in found]
    for number, each in enumerate(found):
        with suppress(docker.errors.APIError):
            client.rename(each["Id"], f"aside-{number}")
    for each, name in zip(found, [*names[1:], *names[:1]], strict=True):
        with suppress(docker.errors.APIError):
            client.rename(each["Id"], name)
    yield


BY_AGENTS: Mapping[str, Breaking] = {
    "100 MB in a line": _inside_each(LONG_LINE),
    "fork bombs": _inside_each(FORK_BOMB),
    "programs beside them without memory": _inside_each(TOO_MUCH_MEMORY),
}
