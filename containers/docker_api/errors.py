"""Translates the errors of docker-py and of the libraries below it into those of `containers.errors`.

Only a 404 for a container means that it is gone. A 5xx answer says nothing about a container. It becomes an
`EngineFailedError`, which is an `EngineUnavailableError`: the state is unknown until the next look.
"""

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import docker.errors
import requests
import urllib3.exceptions

from containers.agent_text import clean
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError, ImageMissingError, NameTakenError
from containers.outbound.call_limits import AnswerTooLargeError
from containers.outbound.foreign_json import read_json

SILENT = "The container engine does not answer."
SLOW = "The container engine did not answer in time."
GARBLED = "The container engine gave an answer that cannot be read."
CLOSED = "The container engine's socket is closed to Berth: somebody changed the rights or the group of its file."
TOO_LARGE = "The container engine gave an answer that is too large."
FAILED = "The container engine failed"
FULL = "The container engine's disk is full: no space left on device. The staff have to make room."
NO_ADDRESSES = (
    "The container engine has no addresses left for another network. The staff have to remove unused networks (docker "
    "network prune) or give the engine more addresses (default-address-pools in /etc/docker/daemon.json)."
)
_NO_POOL = ("non-overlapping IPv4 address pool", "predefined address pools have been fully subnetted")
STATE_MISSING = (
    "What the agent keeps is missing on the engine's disk, where somebody has removed it, or cannot be read. Clear the "
    "agent's memory or have the staff restore it, and start the agent again."
)


class EngineFailedError(EngineUnavailableError):
    """The engine answered that it failed (5xx). It may have carried out the command nevertheless."""


class EmptyAnswerError(EngineUnavailableError):
    """The engine answered with success and an empty body, where JSON was due."""


class MissingError(EngineRefusedError):
    """The engine answered 404: it has no such container, volume or network."""


class ConflictError(EngineRefusedError):
    """The engine answered 409: the container runs or is being removed, the volume is in use."""


_TIMEOUTS = (TimeoutError, requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)
_UNREACHABLE = (ConnectionRefusedError, FileNotFoundError, PermissionError, socket.gaierror)
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
_UNREADABLE = (ValueError, RecursionError, OverflowError, MemoryError)
"""The errors that reading a hostile answer may raise: it is nested too deeply, or announces more than it contains."""


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
    except (*_SILENCES, *_UNREADABLE) as error:
        raise EngineUnavailableError(_sentence(error)) from error


@contextmanager
def understand_answer() -> Iterator[None]:
    """For code that reads an answer. Raises `EngineUnavailableError` if the answer does not have the expected form."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, *_UNREADABLE) as error:
        raise EngineUnavailableError(GARBLED) from error


def as_refusal(error: EngineUnavailableError) -> EngineError:
    """Returns a refusal if the engine itself reported the failure, which the caller has confirmed by a second look.

    Returns any other error as it is: the outcome is still unknown.
    """
    return EngineRefusedError(str(error)) if isinstance(error, EngineFailedError) else error


def is_timeout(error: BaseException) -> bool:
    """Returns whether the error means that nothing arrived in time, and not that the connection broke."""
    return _is_due_to(error, *_TIMEOUTS)


def is_unreachable(error: BaseException) -> bool:
    """Returns whether the error means that nothing listens where the engine should be, or that Berth may not ask it."""
    return _is_due_to(error, *_UNREACHABLE)


def _is_due_to(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Returns whether the error is of these kinds or wraps one, as requests does if reading a body fails midway, and
    docker-py if it cannot ask for the engine's version."""
    if isinstance(error, kinds):
        return True
    causes = (*error.args, error.__cause__)
    return any(_is_due_to(cause, *kinds) for cause in causes if isinstance(cause, BaseException))


def _sentence(error: BaseException) -> str:
    if is_timeout(error):
        return SLOW
    if _is_due_to(error, AnswerTooLargeError):
        return TOO_LARGE
    if _is_due_to(error, PermissionError):
        return CLOSED
    return GARBLED if isinstance(error, (*_UNREADABLE, requests.exceptions.ContentDecodingError)) else SILENT


def _from_answer(error: docker.errors.APIError) -> EngineError:
    explanation = _clean(str(error.explanation or ""))
    if any(said in explanation for said in _NO_POOL):  # with a 404, 500 or 400, depending on the engine's version
        return EngineRefusedError(NO_ADDRESSES)
    return _from_status(error, error.status_code or 500, explanation)


def _from_status(error: docker.errors.APIError, status: int, explanation: str) -> EngineError:
    if isinstance(error, docker.errors.ImageNotFound):
        return ImageMissingError(f"The image is not on the container engine: {explanation}")
    if status == 404:
        return MissingError(f"The container engine does not have it: {explanation}")
    if status == 409:
        if "name" in explanation.lower() and "already in use" in explanation.lower():
            return NameTakenError("The name is in use.")
        return ConflictError(f"Something is in the way: {explanation}")
    if status >= 500:
        return _from_failure(explanation)
    return EngineRefusedError(f"The container engine refused: {explanation}")


def _from_failure(explanation: str) -> EngineError:
    if "mount source" in explanation:
        return EngineRefusedError(STATE_MISSING)
    return EngineFailedError(FULL if "no space left on device" in explanation else f"{FAILED}: {explanation}")


def _clean(text: str) -> str:
    """Returns one line of at most 300 characters that hides nothing. The text may quote what an agent printed."""
    return clean(text)[:300].strip()


def raise_for_status(response: requests.Response) -> None:
    """Raises docker-py's error for a refusal. docker-py itself treats a redirect as success."""
    status = response.status_code
    if status < 200 or (300 <= status < 400 and status != 304):  # 304: already started or stopped
        response.close()
        raise EngineUnavailableError(GARBLED)
    if status >= 400:
        explanation = _explain(response)
        is_image = status == 404 and "no such image" in explanation.lower()
        refusal = docker.errors.ImageNotFound if is_image else docker.errors.APIError
        raise refusal("The engine refused.", response=response, explanation=explanation)


def _explain(response: requests.Response) -> str:
    """Returns the engine's own message for a refusal, {"message": …}. Empty if the body is anything else."""
    try:
        body = read_json(response.content)
    except ValueError:
        return ""
    message = body.get("message") if isinstance(body, dict) else None
    return message if isinstance(message, str) else ""
