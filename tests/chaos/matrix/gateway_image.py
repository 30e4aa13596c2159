"""The gateway's image on an installation's own engine, with a clock that can be set."""

import io
import tarfile
from pathlib import Path
from typing import Any

import docker

from containers.docker_api.building.image_build import GATEWAY
from tests.chaos.clock import LIBRARY, faked_clock
from tests.engines import connect

CLOCK = "clock"
"""The file in the gateway's state that says by how much its clock is wrong. Without it, the clock is right."""
_LIBRARY = "/opt/faketime.so"


def find_gateway_image() -> str:
    """Returns the name of the image, or nothing without a usual engine that has it:
    `manage.py build_images gateway` builds it."""
    try:
        client: Any = connect()
    except docker.errors.DockerException:
        return ""
    try:
        return GATEWAY.image if client.images(GATEWAY.image) else ""
    finally:
        client.close()


def read_gateway_image() -> bytes:
    client: Any = connect()
    try:
        return b"".join(client.get_image(GATEWAY.image))
    finally:
        client.close()


def bring_gateway_image(packed: bytes, client: Any) -> None:
    """Copies the image to the engine of `client`."""
    client.load_image(packed)
    if LIBRARY:
        give_clock(client, GATEWAY.image)


def give_clock(client: Any, image: str) -> None:
    """Makes `image` the gateway's with a clock that can be set."""
    settings = faked_clock(Path("/data") / CLOCK) | {"LD_PRELOAD": _LIBRARY}
    container = client.create_container(GATEWAY.image)["Id"]
    client.put_archive(container, "/", _pack(LIBRARY[0]))
    repository, _, tag = image.partition(":")
    changes = [f"ENV {name}={value}" for name, value in settings.items()]
    client.commit(container, repository=repository, tag=tag, changes=changes)
    client.remove_container(container)


def _pack(library: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = archive.gettarinfo(str(library.resolve()), arcname=_LIBRARY.lstrip("/"))
        entry.mode = 0o755
        with library.open("rb") as content:
            archive.addfile(entry, content)
    return buffer.getvalue()
