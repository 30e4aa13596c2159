"""The one place where foreign errors become those of `containers.engine`: docker-py's, and what it lets through.

Not to be silent about: only a 404 for a container says that it is gone. A 5xx answer says nothing about a container,
therefore it is an `EngineFailedError`, which is an `EngineUnavailableError`: unknown, look again.
"""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

import docker.errors
import requests
import urllib3.exceptions

from containers.engine import (
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    ImageMissingError,
    NameTakenError,
)

SILENT = "The container engine does not answer."
SLOW = "The container engine did not answer in time."
GARBLED = "The container engine gave an answer that cannot be read."


class EngineFailedError(EngineUnavailableError):
    """The engine answered that something went wrong with it (5xx). What was asked may or may not have happened."""


class MissingError(EngineRefusedError):
    """What was named (a container, a volume, a network) is not there: the engine answered 404."""


class ConflictError(EngineRefusedError):
    """Something else is in the way (409): it runs, it is being removed, it is in use."""


_TIMEOUTS = (TimeoutError, requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)
# What docker-py raises before it asks, or for what the engine said: no sign of silence.
_REFUSALS = (
    docker.errors.BuildError,
    docker.errors.ContainerError,
    docker.errors.ContextAlreadyExists,
    docker.errors.ContextException,
    docker.errors.ContextNotFound,
    docker.errors.DeprecatedMethod,
    docker.errors.ImageLoadError,
    docker.errors.InvalidArgument,
    docker.errors.InvalidConfigFile,
    docker.errors.InvalidRepository,
    docker.errors.InvalidVersion,
    docker.errors.MissingContextParameter,
    docker.errors.NullResource,
    docker.errors.TLSParameterError,
)
_SILENCES = (
    docker.errors.DockerException,
    docker.errors.StreamParseError,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Whatever goes wrong inside comes out as an `EngineError`."""
    try:
        yield
    except EngineError:
        raise
    except docker.errors.APIError as error:
        raise _from_answer(error) from error
    except _REFUSALS as error:
        message = f"The container engine cannot do that: {_clean(str(error))}"
        raise EngineRefusedError(message) from error
    except (*_SILENCES, ValueError) as error:
        raise EngineUnavailableError(_sentence(error)) from error


@contextmanager
def understand_answer() -> Iterator[None]:
    """For code that takes an answer apart: valid JSON of another shape than the engine's own is no answer either."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise EngineUnavailableError(GARBLED) from error


def is_timeout(error: BaseException) -> bool:
    """Whether the error says that nothing came for a while, and not that the connection broke."""
    if isinstance(error, _TIMEOUTS):
        return True
    # requests wraps a time-out in the middle of a body into a ConnectionError.
    return any(isinstance(cause, _TIMEOUTS) for cause in error.args if isinstance(cause, BaseException))


def _sentence(error: BaseException) -> str:
    if is_timeout(error):
        return SLOW
    return GARBLED if isinstance(error, ValueError | requests.exceptions.InvalidJSONError) else SILENT


def _from_answer(error: docker.errors.APIError) -> EngineError:
    status = error.status_code or 500
    said = _clean(str(error.explanation or ""))
    if isinstance(error, docker.errors.ImageNotFound):
        return ImageMissingError(f"The image is not on the container engine: {said}")
    if status == 404:
        return MissingError(f"The container engine does not have it: {said}")
    if status == 409:
        in_use = "name" in said.lower() and "already in use" in said.lower()
        return NameTakenError("The name is in use.") if in_use else ConflictError(f"Something is in the way: {said}")
    if status >= 500:
        return EngineFailedError(f"The container engine failed: {said}")
    return EngineRefusedError(f"The container engine refused: {said}")


def _clean(text: str) -> str:
    """One printable line of at most 300 characters."""
    return "".join(character if character.isprintable() else " " for character in text)[:300].strip()
