"""What images are built of, such as `containers/images/<type>/` for an agent type, and whether one is up to date."""

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
from containers.docker_api.client import Connection
from containers.docker_api.dockerfile import BaseImages, read_base_images
from containers.docker_api.errors import GARBLED
from containers.errors import EngineUnavailableError, ImageMissingError

IMAGES = Path(__file__).resolve().parents[1] / "images"
CONTRACT = Path(agent_contract.__file__)
"""Added to the files of every image, so that both sides of the contract read the same file."""

CONTEXT_LABEL = "berth.context"
"""The label that holds the digest of everything from which an image was built."""

VERSION_LABEL = "org.opencontainers.image.version"
"""The label with the version of the Berth that built the image. A newer one builds it anew only if its files differ."""

BASE_NAME_LABEL = "org.opencontainers.image.base.name"
BASE_DIGEST_LABEL = "org.opencontainers.image.base.digest"
"""The labels that OCI defines for the image with which another begins."""

CERTIFICATES = "build-ca.crt"
PROGRESS_SIZE = 64 * 1024 * 1024
"""Bytes of what the engine reports while it builds or pulls an image, many times a second."""

TAG_LENGTH = 16
"""Digits of a tag that stands for what an image was built of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """The files from which the image of one agent type is built: its own, and the agent contract."""

    folder: Path
    name: str = ""
    named_by_content: bool = False
    """Not the latest, but the one of exactly these files: installations on one engine then have each its own."""
    tagged_by_content: bool = False
    """Has a tag of its content beside that of the latest, by which a former one is still found."""

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
        """The files by their names in the build context."""
        ignored = self.folder / ".dockerignore"
        lines = ignored.read_text().splitlines() if ignored.exists() else []
        patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        names = exclude_paths(str(self.folder), patterns, dockerfile="Dockerfile")
        own = {name: path for name in sorted(names) if (path := self.folder / name).is_file()}
        return {**own, CONTRACT.name: CONTRACT}

    def base_images(self) -> BaseImages:
        return read_base_images((self.folder / "Dockerfile").read_text())

    def digest(self, base: str) -> str:
        """A digest of everything that goes into the image, which the certificates do not. `base` is the base's own."""
        total = hashlib.sha256(base.encode())
        if self.base_images().uses_agent_base:
            total.update(AGENT_BASE.digest(base).encode())
        for name, path in self.files().items():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{name} {_mode(path):o} {content}\n".encode())
        return total.hexdigest()

    def pack(self, wheels: Iterable[Path] = ()) -> io.BytesIO:
        """The archive for the engine, with the certificates that downloads trust where this host has any.

        The files of Python packages come with it for images that find none in a registry. As requirements name what
        they hold by its hash, they are none of the digest.
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
"""Not an agent's: it sets firewall rules where this process may not."""

GATEWAY = BuildContext(folder=IMAGES / "gateway", named_by_content=True)
"""Not an agent's either: what stands between agents and the world. Its folder is among theirs.

It is replaced by itself where its image is another one, which is for its own installation to say."""

AGENT_BASE = BuildContext(folder=IMAGES / "common", name="agent-base", tagged_by_content=True)
"""Not an agent's: what agent types begin with whose Dockerfile says FROM ${AGENT_BASE}. It holds their side of the
contract."""


def find_contexts() -> list[BuildContext]:
    """Those of the agent types."""
    folders = (file.parent for file in sorted(IMAGES.glob("*/Dockerfile")))
    others = (GATEWAY.folder, AGENT_BASE.folder)
    return [BuildContext(folder=folder, tagged_by_content=True) for folder in folders if folder not in others]


def find_certificates() -> Path | None:
    """The host's bundle of certificates. In many companies it holds the authority that re-signs their traffic."""
    candidates = [os.environ.get("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt"]
    return next((Path(path) for path in candidates if path and Path(path).is_file()), None)


def inspect_image(connection: Connection, image: str) -> dict[str, Any] | None:
    try:
        with connection.call() as client:
            found = client.inspect_image(image)
    except ImageMissingError:
        return None
    if not isinstance(found, dict):
        raise EngineUnavailableError(GARBLED)
    return found


def is_current(connection: Connection, context: BuildContext, labels: Mapping[str, str]) -> bool:
    """Whether the image is there with all of these labels."""
    found = inspect_image(connection, context.image)
    return bool(found) and labels.items() <= ((found or {})["Config"].get("Labels") or {}).items()


def _mode(path: Path) -> int:
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
