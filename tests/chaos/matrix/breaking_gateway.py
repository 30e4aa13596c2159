"""How the gateway of an installation is broken, and the engine's way to it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.gateway_image import CLOCK
from tests.chaos.matrix.installation import Installation


def _find_pids(installation: Installation) -> list[int]:
    """Every process of its container."""
    answer = installation.instance.client.top(installation.gateway_container(), "-o pid")
    return [int(pid) for (pid,) in answer["Processes"]]


@contextmanager
def gateway_killed(installation: Installation) -> Iterator[None]:
    for pid in _find_pids(installation):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    yield


@contextmanager
def gateway_stopped(installation: Installation) -> Iterator[None]:
    pids = _find_pids(installation)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextmanager
def gateway_volumes_removed(installation: Installation) -> Iterator[None]:
    """By somebody who tidies the engine's disk: the engine itself refuses that for as long as the gateway runs."""
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


@contextmanager
def engine_execs_hang(installation: Installation) -> Iterator[None]:
    """Every program that is to be run in a container, and nothing else. Those that run are cut off."""
    installation.proxy.break_("hang", only="/exec")
    installation.proxy.cut_streams()
    try:
        yield
    finally:
        installation.proxy.heal()


def gateway_stepping(by: timedelta) -> Breaking:
    """As where the machine with the engine has another time than the one with the service."""

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
