"""How the gateway of an installation is broken, and the engine's way to it."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.breaking_tidying import rename
from tests.chaos.matrix.gateway_image import CLOCK
from tests.chaos.matrix.installation import Installation

EXECS = "control/talk.py"
"""The programs that the service runs in its container to talk to it."""


def _find_pids(installation: Installation, command: str = "") -> list[int]:
    """Returns every process of its container with this in its command line."""
    answer = installation.instance.client.top(installation.gateway_container(), "-o pid,args")
    return [int(pid) for pid, words in answer["Processes"] if command in words]


@contextmanager
def gateway_killed(installation: Installation) -> Iterator[None]:
    for pid in _find_pids(installation):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    yield


def gateway_stopped(command: str = "") -> Breaking:
    @contextmanager
    def stopped(installation: Installation) -> Iterator[None]:
        with _stopped(_find_pids(installation, command)):
            yield

    return stopped


@contextmanager
def _stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        with suppress(ProcessLookupError):  # it belonged to an answer
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def gateway_volumes_removed(installation: Installation) -> Iterator[None]:
    """Someone cleans up the engine's disk: the engine itself refuses that as long as the gateway runs."""
    container = installation.instance.client.inspect_container(installation.gateway_container())
    paths = [each["Source"] for each in container["Mounts"] if each["Type"] == "volume"]
    assert paths
    installation.engine.run("rm", "-rf", *paths)
    yield


@contextmanager
def gateway_volumes_removed_and_killed(installation: Installation) -> Iterator[None]:
    pids = _find_pids(installation)
    with gateway_volumes_removed(installation):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        yield


def to_gateway(act: Callable[[Any, str], object]) -> Breaking:
    """What someone does to its container."""

    @contextmanager
    def done(installation: Installation) -> Iterator[None]:
        act(installation.instance.client, installation.gateway_container())
        yield

    return done


def disconnect(client: Any, container: str) -> None:
    for network in client.inspect_container(container)["NetworkSettings"]["Networks"]:
        client.disconnect_container_from_network(container, network, force=True)


BY_PEOPLE: Mapping[str, Breaking] = {
    "container removed": to_gateway(lambda client, each: client.remove_container(each, force=True, v=True)),
    "container stopped": to_gateway(lambda client, each: client.stop(each, timeout=5)),
    "container restarted": to_gateway(lambda client, each: client.restart(each, timeout=5)),
    "container paused": to_gateway(lambda client, each: client.pause(each)),
    "container renamed": to_gateway(rename),
    "container disconnected": to_gateway(disconnect),
}


@contextmanager
def engine_execs_hang(installation: Installation) -> Iterator[None]:
    """Starting a program in a container hangs, and nothing else does. Running ones are cut off."""
    installation.proxy.break_("hang", only="/exec")
    installation.proxy.cut_streams()
    try:
        yield
    finally:
        installation.proxy.heal()


def gateway_stepping(by: timedelta) -> Breaking:
    """The engine's machine has another time than the service's."""

    @contextmanager
    def stepped(installation: Installation) -> Iterator[None]:
        _set_clock(installation, by)
        try:
            yield
        finally:
            _set_clock(installation, timedelta(0))

    return stepped


def _set_clock(installation: Installation, by: timedelta) -> None:
    container = installation.instance.client.inspect_container(installation.gateway_container())
    [state] = [each["Source"] for each in container["Mounts"] if each["Destination"] == "/data"]
    installation.engine.run("sh", "-c", f"echo {by.total_seconds():+.0f} > {state}/{CLOCK}")
