"""The files that images are built from, such as `containers/images/<type>/`, and whether an image is up to date."""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.utils import exclude_paths

from containers import agent_contract
from containers.docker_api.building.dockerfile import BaseImages, read_base_images
from containers.docker_api.client import Connection
from containers.docker_api.errors import GARBLED, TOO_LARGE
from containers.errors import EngineUnavailableError, ImageMissingError, ImageUnusableError

CHECKOUT = Path(__file__).resolve().parents[3]
IMAGES = CHECKOUT / "containers/images"
CONTRACT = Path(agent_contract.__file__)
"""Added to the files of every image, so that both sides of the contract read the same file."""

CONTEXT_LABEL = "berth.context"
"""The label with the digest of everything from which an image was built."""

VERSION_LABEL = "org.opencontainers.image.version"
"""The label with the version of the Berth that built the image. A newer Berth rebuilds it only if its files differ."""

BASE_NAME_LABEL = "org.opencontainers.image.base.name"
BASE_DIGEST_LABEL = "org.opencontainers.image.base.digest"
"""The labels that OCI defines for the base of an image."""

CERTIFICATES = "build-ca.crt"
ENDLESS = "The configuration of the image {} takes megabytes. Shorten its labels and variables."

PROGRESS_SIZE = 64 * 1024 * 1024
"""Bytes of the engine's progress messages while it builds or pulls an image, many a second."""

TAG_LENGTH = 16
"""Digits of a tag that identifies the content from which an image was built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """The files from which the image of one agent type is built: its own, and the agent contract."""

    folder: Path
    name: str = ""
    named_by_content: bool = False
    """The tag is a digest of these files and not `latest`, so that installations on one engine each have their own."""
    tagged_by_content: bool = False
    """The image has a tag by its content as well as `latest`, by which a former one can still be found."""

    @property
    def type(self) -> str:
        return self.name or self.folder.name

    @property
    def image(self) -> str:
        return f"{self.repository}:{self.digest('')[:TAG_LENGTH] if self.named_by_content else 'latest'}"

    @property
    def repository(self) -> str:
        return f"berth/{self.type}"

    def files(self) -> dict[str, Path]:
        """Returns the files by their names in the build context."""
        ignored = self.folder / ".dockerignore"
        lines = ignored.read_text().splitlines() if ignored.exists() else []
        patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        names = exclude_paths(str(self.folder), patterns, dockerfile="Dockerfile")
        own = {name: path for name in sorted(names) if (path := self.folder / name).is_file()}
        return {**own, CONTRACT.name: CONTRACT}

    def base_images(self) -> BaseImages:
        return read_base_images((self.folder / "Dockerfile").read_text())

    def digest(self, base: str) -> str:
        """Returns a digest of everything that goes into the image, without the certificates, which do not.

        `base` is the digest of its base image.
        """
        total = hashlib.sha256(base.encode())
        if self.base_images().uses_agent_base:
            total.update(AGENT_BASE.digest(base).encode())
        for name, path in self.files().items():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{name} {_mode(path):o} {content}\n".encode())
        return total.hexdigest()

    def pack(self, wheels: Iterable[Path] = ()) -> io.BytesIO:
        """Returns the archive for the engine, with the host's certificates for downloads if it has any.

        It includes Python packages (`wheels`) for builds that reach no package registry. The digest does not cover
        them, because the requirements pin each package by its hash.
        """
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, path in self.files().items():
                _add(archive, name, path.read_bytes(), _mode(path))
            if certificates := find_certificates():
                _add(archive, CERTIFICATES, certificates.read_bytes(), 0o644)
            for wheel in wheels:
                _add(archive, wheel.name, wheel.read_bytes(), 0o644)
        buffer.seek(0)
        return buffer


FIREWALL = BuildContext(folder=IMAGES.parent / "firewall" / "image", name="firewall")
"""Not an agent image: it sets firewall rules if this process may not."""

GATEWAY = BuildContext(folder=IMAGES / "gateway", named_by_content=True)
"""Not an agent image either, although its folder is among theirs: it stands between the agents and the internet.

Each installation replaces its own gateway when the image changes, so the image is named by its content."""

AGENT_BASE = BuildContext(folder=IMAGES / "common", name="agent-base", tagged_by_content=True)
"""Not an agent image: the base of agent types whose Dockerfile says FROM ${AGENT_BASE}. It contains their side of the
contract."""


def find_contexts() -> list[BuildContext]:
    """Returns the build contexts of the agent types."""
    folders = (file.parent for file in sorted(IMAGES.glob("*/Dockerfile")))
    others = (GATEWAY.folder, AGENT_BASE.folder)
    return [BuildContext(folder=folder, tagged_by_content=True) for folder in folders if folder not in others]


def find_certificates() -> Path | None:
    """Returns the CA bundle for downloads, or None. In many companies it has the authority that re-signs their traffic.

    It is the one that the environment names, the one with which Berth's own image was built, or the host's.
    """
    candidates = [os.environ.get("SSL_CERT_FILE"), CHECKOUT / CERTIFICATES, "/etc/ssl/certs/ca-certificates.crt"]
    return next((Path(path) for path in candidates if path and Path(path).is_file()), None)


def inspect_image(connection: Connection, image: str) -> dict[str, Any] | None:
    """Raises `EngineError`; `ImageUnusableError` if the image's configuration is longer than an answer may be."""
    try:
        with connection.call(about_one=True) as client:
            found = client.inspect_image(image)
    except ImageMissingError:
        return None
    except EngineUnavailableError as error:
        if str(error) == TOO_LARGE:
            raise ImageUnusableError(ENDLESS.format(image)) from error
        raise
    if not isinstance(found, dict):
        raise EngineUnavailableError(GARBLED)
    return found


def is_current(connection: Connection, context: BuildContext, labels: Mapping[str, str]) -> bool:
    """Returns whether the image exists with all of these labels."""
    found = inspect_image(connection, context.image)
    return bool(found) and labels.items() <= ((found or {})["Config"].get("Labels") or {}).items()


def _mode(path: Path) -> int:
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
