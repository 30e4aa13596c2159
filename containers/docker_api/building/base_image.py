"""Finds the base image of agent images: the registry's Python image, or one built from Debian packages."""

import tempfile
from collections.abc import Callable

from containers.docker_api.building.image_build import PROGRESS_SIZE, inspect_image
from containers.docker_api.client import Connection
from containers.errors import EngineError, EngineRefusedError
from containers.programs import ProgramError, find_program, is_root, run_program

OFFICIAL = "python:3.13-slim"
DEBIAN_BASE = "berth-base:trixie"
_PULL_SILENCE = 15.0
_PULL_LIMIT = 600.0
_BOOTSTRAP_LIMIT = 900.0
_IMPORT_SILENCE = 300.0
_MIRROR = "http://deb.debian.org/debian"
_SOURCES = (
    f"deb {_MIRROR} trixie main",
    f"deb {_MIRROR} trixie-updates main",
    "deb http://deb.debian.org/debian-security trixie-security main",
)
_ERROR = "E: "
_EXCLUDED_PATHS = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")


class NoBaseImageError(EngineRefusedError):
    """The engine has no base image, and this machine can neither pull nor build one."""


def find_base(connection: Connection, *, pull: bool = True, newest: bool = False, report: Callable[[str], None]) -> str:
    """Returns the name of a base image on the engine, which was there already, is pulled, or is built here.

    `pull=False` asks no registry. With `newest`, an image that is there already is used only if no newer one is
    available. Raises `NoBaseImageError` if this machine cannot provide one, and another `EngineError` if an attempt
    failed.
    """
    there = [image for image in (OFFICIAL, DEBIAN_BASE) if inspect_image(connection, image)]
    if there and not newest:
        return there[0]
    if pull:
        report(f"Pulling {OFFICIAL}")
        if pull_image(connection, *OFFICIAL.rsplit(":", 1)) and inspect_image(connection, OFFICIAL):
            return OFFICIAL
    if OFFICIAL in there:
        report(f"The registry does not answer. Going on with the {OFFICIAL} that is on the engine")
        return OFFICIAL
    _require_mmdebstrap()
    report(f"The registry does not answer. Making {DEBIAN_BASE} of Debian packages, which takes about half a minute")
    _make_from_debian(connection)
    return DEBIAN_BASE


def pull_image(connection: Connection, repository: str, tag: str) -> bool:
    """Pulls the image with this tag or digest. Returns whether the registry delivered it."""
    try:
        with connection.call(_PULL_LIMIT, size=PROGRESS_SIZE) as client:
            response = client.open_pull(repository, tag, silence=_PULL_SILENCE)
            reports = b"".join(response.iter_content(64 * 1024))
    except EngineError:
        return False
    return b'"errorDetail"' not in reports


def _require_mmdebstrap() -> None:
    if not is_root() or find_program("mmdebstrap") is None:
        message = (
            f"There is no base image: {OFFICIAL} can neither be found on the engine nor pulled, and making one takes "
            "root and mmdebstrap. Load one with `docker load`, or name another with --base-image."
        )
        raise NoBaseImageError(message)


def _explain(error: ProgramError) -> str:
    """Returns the first error that the program told, which is the cause of the others. They only say what it ended."""
    first = next((line for line in error.lines if line.startswith(_ERROR)), "")
    return f"{first.removeprefix(_ERROR)} ({error})" if first else str(error)


def _make_from_debian(connection: Connection) -> None:
    options = [f"--dpkgopt=path-exclude={path}" for path in _EXCLUDED_PATHS]
    packages = "python3,python3-venv,ca-certificates"
    with tempfile.TemporaryFile() as root:
        try:
            run_program(
                "mmdebstrap", "--variant=minbase", f"--include={packages}", *options, "trixie", "-", *_SOURCES,
                seconds=_BOOTSTRAP_LIMIT, output=root,
            )  # fmt: skip
        except ProgramError as error:
            message = f"The base image could not be made: {_explain(error)}"
            raise EngineRefusedError(message) from error
        root.seek(0)
        repository, _, tag = DEBIAN_BASE.partition(":")
        with connection.call(_BOOTSTRAP_LIMIT) as client:
            client.import_root(root, repository, tag, changes=["ENV LANG=C.UTF-8"], silence=_IMPORT_SILENCE)
    if inspect_image(connection, DEBIAN_BASE) is None:
        raise EngineRefusedError("The container engine did not take the base image.")
