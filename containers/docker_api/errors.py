"""Translates foreign errors into those of `containers.engine`: docker-py's own, and those that it lets through.

Only a 404 for a container means that it is gone. A 5xx answer means nothing about a container. It becomes an
`EngineFailedError`, which is an `EngineUnavailableError`: the state is unknown until the next look.
"""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

import docker.errors
import requests
import urllib3.exceptions

from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError, ImageMissingError, NameTakenError

SILENT = "The container engine does not answer."
SLOW = "The container engine did not answer in time."
GARBLED = "The container engine gave an answer that cannot be read."


class EngineFailedError(EngineUnavailableError):
    """The engine answered that it failed (5xx). The command may have been carried out all the same."""


class MissingError(EngineRefusedError):
    """The engine answered 404: it has no such container, volume or network."""


class ConflictError(EngineRefusedError):
    """The engine answered 409: the container runs or is being removed, the volume is in use."""


_TIMEOUTS = (TimeoutError, requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)
# Raised by docker-py before it calls the engine, or for what the engine answered: the engine is not silent.
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
    """Turns every error of a call to the engine into an `EngineError`."""
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
    """For code that reads an answer. Raises `EngineUnavailableError` where it has another shape than the engine's."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise EngineUnavailableError(GARBLED) from error


def is_timeout(error: BaseException) -> bool:
    """Whether the error means that nothing arrived in time, and not that the connection broke."""
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
    explanation = _clean(str(error.explanation or ""))
    if isinstance(error, docker.errors.ImageNotFound):
        return ImageMissingError(f"The image is not on the container engine: {explanation}")
    if status == 404:
        return MissingError(f"The container engine does not have it: {explanation}")
    if status == 409:
        in_use = "name" in explanation.lower() and "already in use" in explanation.lower()
        if in_use:
            return NameTakenError("The name is in use.")
        return ConflictError(f"Something is in the way: {explanation}")
    if status >= 500:
        return EngineFailedError(f"The container engine failed: {explanation}")
    return EngineRefusedError(f"The container engine refused: {explanation}")


def _clean(text: str) -> str:
    """One printable line of at most 300 characters."""
    return "".join(character if character.isprintable() else " " for character in text)[:300].strip()
