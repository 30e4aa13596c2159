"""Pushes the engine's images to a registry, with the credentials from Docker's own configuration."""

from typing import Any

from django.views.decorators.debug import sensitive_variables
from docker import auth
from docker.errors import DockerException

from containers.agent_text import clean
from containers.docker_api.building.image_build import PROGRESS_SIZE, inspect_image
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineRefusedError, ImageMissingError
from containers.outbound.foreign_json import read_json

PUSH_LIMIT, PUSH_SILENCE = 3600.0, 300.0
"""Seconds for the push of one image, and between two signs of progress. Only commands wait for it, never requests."""


def name_in_registry(image: str, registry: str) -> tuple[str, str]:
    """Returns the repository and tag of an image in this registry. A name in this registry stays as it is."""
    head, slash, tail = image.partition("@")[0].rpartition("/")
    name, _, tag = tail.partition(":")
    own = f"{head}{slash}{name}"
    return own if own.startswith(f"{registry}/") else f"{registry}/{own}", tag or "latest"


def digest_in_registry(image: dict[str, Any], repository: str) -> str:
    """Returns `repository@sha256:…`, the registry's name of exactly this image, or "" if the engine knows none."""
    known = [str(each) for each in image.get("RepoDigests") or []]
    return next((each for each in known if each.startswith(f"{repository}@")), "")


@sensitive_variables()
def read_credentials(connection: Connection, registry: str) -> str:
    """Returns the credentials for a request header, or "" if Docker's configuration has none for this registry.

    They belong to the user who runs the command: `docker login`, or `DOCKER_CONFIG`. Raises `EngineRefusedError`.
    """
    with connection.call() as client:
        try:
            found = auth.get_config_header(client, registry)
        except DockerException as error:
            raise EngineRefusedError(f"Docker's own configuration has no credentials for {registry}.") from error
    return found.decode() if found else ""


def push_image(connection: Connection, image: str, registry: str) -> str:
    """Pushes the image to the registry. Returns its name there with the digest.

    The engine keeps that name with its image. Raises `ImageMissingError`, or `EngineRefusedError` with the registry's
    own message.
    """
    if inspect_image(connection, image) is None:
        raise ImageMissingError(f"The image {image} is not on the engine.")
    repository, tag = name_in_registry(image, registry)
    with connection.call() as client:
        client.tag(image, repository, tag)
    credentials = read_credentials(connection, registry)
    with connection.call(PUSH_LIMIT, size=PROGRESS_SIZE) as client, understand_answer():
        answer = client.open_push(repository, tag, credentials=credentials, silence=PUSH_SILENCE)
        reports = b"".join(answer.iter_content(64 * 1024))
        refusal = next(filter(None, map(_read_error, reports.splitlines())), "")
    if refusal:
        raise EngineRefusedError(f"The registry did not take {repository}:{tag}: {refusal}")
    found = inspect_image(connection, f"{repository}:{tag}")
    digest = digest_in_registry(found, repository) if found else ""
    if not digest:
        raise EngineRefusedError(f"The engine does not say under which digest the registry has {repository}:{tag}.")
    return digest


def _read_error(line: bytes) -> str:
    """Returns the error in this line of the engine's report, or an empty string."""
    report = read_json(line) if line.strip() else {}
    return clean(str(report.get("error") or ""))[:300]
