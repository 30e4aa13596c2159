"""What people and clean-up programs do to a host in a year, each in one line of shell."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import docker

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.breaking_tidying import BY_TIDYING, recreate, rename
from tests.chaos.matrix.installation import Installation
from tests.config.serving.served import children_of

OTHER_LIMITS = {"mem_limit": "48m", "memswap_limit": "48m"}
OTHER_POLICY = {"restart_policy": {"Name": "always"}}


def to_each(act: Callable[[Any, str], object]) -> Breaking:
    """`docker <verb> $(docker ps -aq)`."""

    @contextmanager
    def done(installation: Installation) -> Iterator[None]:
        client = installation.instance.client
        for each in client.containers(all=True):
            with suppress(docker.errors.APIError):  # it is down, or was quicker
                act(client, each["Id"])
        yield

    return done


@contextmanager
def system_pruned(installation: Installation) -> Iterator[None]:
    """`docker system prune --all --volumes --force`:
    everything that does not run at this moment, and what belonged to it."""
    client = installation.instance.client
    for prune in (client.prune_containers, client.prune_networks, client.prune_volumes, client.prune_images):
        with suppress(docker.errors.APIError):
            prune()
    yield


@contextmanager
def hung_up(installation: Installation) -> Iterator[None]:
    """The terminal in which someone started it is gone."""
    for each in processes(installation):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGHUP)
    yield


def processes(installation: Installation) -> list[int]:
    """The processes of the service, the first one last."""
    found = list(installation.service.pids("serve"))
    for each in found:  # which grows meanwhile
        found += children_of(each)
    return found[::-1]


@contextmanager
def web_server_killed(installation: Installation) -> Iterator[None]:
    """The kernel needs memory. `serve` ends with it once everything is answered, and its unit starts it again."""
    for pid in installation.service.pids("web server"):
        os.kill(pid, signal.SIGKILL)
    try:
        yield
    finally:
        installation.service.kill()
        installation.service.start()


@contextmanager
def temporary_files_removed(installation: Installation) -> Iterator[None]:
    """With their folder, as tmpreaper does with a folder that was unused for a week."""
    folder = installation.service_disk.path / "tmp"
    shutil.rmtree(folder)
    try:
        yield
    finally:
        folder.mkdir(exist_ok=True)


@contextmanager
def engine_read_only(installation: Installation) -> Iterator[None]:
    """As a kernel does with a failing disk, for everything that is opened from now on."""
    path = str(installation.engine_disk.path)
    installation.engine.run("mount", "--bind", path, path)
    try:
        installation.engine.run("mount", "-o", "remount,bind,ro", path)
        yield
    finally:
        installation.engine.run("umount", "--lazy", path)


@contextmanager
def engine_elsewhere(installation: Installation) -> Iterator[None]:
    """Another setting of `daemon.json` gives it an empty directory, like `userns-remap`, and is reverted."""
    engine = installation.engine
    engine.end(signal.SIGTERM)
    engine.data = "data/elsewhere"
    engine.start()
    try:
        yield
    finally:
        engine.end(signal.SIGTERM)
        engine.data = "data"
        engine.start()


BY_PEOPLE: Mapping[str, Breaking] = {
    "prune the system": system_pruned,
    "stop all": to_each(lambda client, each: client.stop(each, timeout=1)),
    "kill all": to_each(lambda client, each: client.kill(each)),
    "pause all": to_each(lambda client, each: client.pause(each)),
    "remove all": to_each(lambda client, each: client.remove_container(each, force=True, v=True)),
    "restart all": to_each(lambda client, each: client.restart(each, timeout=1)),
    "start all": to_each(lambda client, each: client.start(each)),
    "rename all": to_each(rename),
    "recreate all": to_each(recreate),
    **BY_TIDYING,
    "other limits": to_each(lambda client, each: client.update_container(each, **OTHER_LIMITS)),
    "other restart policy": to_each(lambda client, each: client.update_container(each, **OTHER_POLICY)),
    "disk read-only": engine_read_only,
    "engine with another directory": engine_elsewhere,
    "hang up": hung_up,
    "no temporary files": temporary_files_removed,
    "web server out of memory": web_server_killed,
}
