"""Pins the base image of agent images: it is looked up by its name once, and by its digest from then on.

Each image that is built on it carries its name and digest in the labels that OCI defines for them. A tag that moves
therefore changes nothing until an operator asks for it. The first look-up trusts the registry.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from containers.docker_api.building.base_image import pull_image
from containers.docker_api.building.image_build import (
    BASE_DIGEST_LABEL,
    BASE_NAME_LABEL,
    CONTEXT_LABEL,
    BuildContext,
    inspect_image,
)
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,254}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedBase:
    """`digest` is the manifest's digest in the registry, or the image's id if it does not come from a registry."""

    name: str
    digest: str

    def __str__(self) -> str:
        return f"{self.name.partition('@')[0]}@{self.digest}"

    @property
    def reference(self) -> str:
        """The name of exactly this image in its registry."""
        return f"{_repository(self.name)}@{self.digest}"


def pin_base(connection: Connection, name: str) -> PinnedBase | None:
    """Returns the permanent name of an image on the engine, or None if it is missing."""
    found = inspect_image(connection, name)
    if found is None:
        return None
    repository = _repository(name)
    references = [str(each).rpartition("@") for each in found.get("RepoDigests") or []]
    digests = sorted(digest for its_repository, _, digest in references if its_repository == repository)
    return PinnedBase(name=name, digest=_of(name) or next(iter(digests), found["Id"]))


def find_pin(connection: Connection, images: Iterable[str]) -> PinnedBase | None:
    """Returns the base of the first of these images that exists and declares its base, or None."""
    for image in images:
        if pin := read_pin(inspect_image(connection, image)):
            return pin
    return None


def read_pin(image: dict[str, Any] | None) -> PinnedBase | None:
    """Returns the base that the labels of an inspected image name, or None."""
    labels = ((image["Config"] or {}).get("Labels") if image is not None else None) or {}
    name, digest = labels.get(BASE_NAME_LABEL), labels.get(BASE_DIGEST_LABEL)
    if not (name and digest and _NAME.fullmatch(name) and _DIGEST.fullmatch(digest)):
        return None
    return PinnedBase(name=name, digest=digest)


def fetch_base(connection: Connection, pin: PinnedBase, *, pull: bool = True) -> str:
    """Returns the id of exactly this base on the engine, and pulls it by its digest if it is missing.

    Raises `EngineRefusedError` if it is no longer available.
    """
    found = inspect_image(connection, pin.reference) or inspect_image(connection, pin.digest)
    if found is None and pull and pull_image(connection, _repository(pin.name), pin.digest):
        found = inspect_image(connection, pin.reference)
    if found is None:
        message = (
            f"The base image {pin}, on which the agent images were built, is neither on the engine nor given by a "
            "registry. Load it with `docker load`, or go on to a new one with `manage.py build_images --update-base`."
        )
        raise EngineRefusedError(message)
    return str(found["Id"])


def describe_build(context: BuildContext, pin: PinnedBase) -> dict[str, str]:
    """Returns the labels of an image that is built from this context on this base."""
    labels = {CONTEXT_LABEL: context.digest(pin.digest)}
    if context.base_images().uses_base_image:
        labels |= {BASE_NAME_LABEL: pin.name.partition("@")[0], BASE_DIGEST_LABEL: pin.digest}
    return labels


def _repository(name: str) -> str:
    """Returns the name without tag and digest. A colon before the last slash belongs to a port."""
    head, slash, tail = name.partition("@")[0].rpartition("/")
    return head + slash + tail.partition(":")[0]


def _of(name: str) -> str:
    """Returns the digest in a name, or an empty string."""
    digest = name.partition("@")[2]
    return digest if _DIGEST.fullmatch(digest) else ""
