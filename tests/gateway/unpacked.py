"""The files of the gateway's image, arranged as its build does."""

import tarfile
from pathlib import Path

from containers.docker_api.building.image_build import GATEWAY


def unpack_image(folder: Path) -> Path:
    with tarfile.open(fileobj=GATEWAY.pack()) as archive:
        archive.extractall(folder, filter="data")
    return folder
