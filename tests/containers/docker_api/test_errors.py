"""Every foreign error becomes one of ours."""

import inspect as python
import json
from typing import Any

import docker.errors
import pytest
import requests
import urllib3.exceptions

from containers.docker_api import errors
from containers.docker_api.errors import EngineFailedError, translate_errors
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError, ImageMissingError, NameTakenError


def api_error(status: int, message: str, kind: type[docker.errors.APIError] = docker.errors.APIError) -> Exception:
    response = requests.Response()
    response.status_code = status
    return kind("refused", response=response, explanation=message)


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (api_error(404, "no such container", docker.errors.NotFound), errors.MissingError),
        (api_error(404, "no such image", docker.errors.ImageNotFound), ImageMissingError),
        (api_error(409, 'Conflict. The container name "/x" is already in use'), NameTakenError),
        (api_error(409, "removal is in progress"), errors.ConflictError),
        (api_error(400, "bad parameter"), EngineRefusedError),
        (api_error(403, "not through this proxy"), EngineRefusedError),
        (api_error(500, "oh"), EngineFailedError),
        (api_error(503, "swarm"), EngineFailedError),
    ],
)
def test_answers_become_our_errors(error: Exception, ours: type[EngineError]) -> None:
    with pytest.raises(EngineError) as caught, translate_errors():
        raise error
    assert type(caught.value) is ours


@pytest.mark.parametrize("status", [400, 404, 500])
@pytest.mark.parametrize(
    "said",
    [
        "could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network",
        "all predefined address pools have been fully subnetted",
        "failed to create network berth: all predefined address pools have been fully subnetted",
    ],
)
def test_an_engine_without_free_addresses_is_told_with_what_to_do(status: int, said: str) -> None:
    """Old engines answer 404, which became “does not have it”."""
    with pytest.raises(EngineError, match=r"docker network prune.*default-address-pools") as caught, translate_errors():
        raise api_error(status, said, docker.errors.NotFound if status == 404 else docker.errors.APIError)
    assert type(caught.value) is EngineRefusedError


def exceptions_of(module: Any) -> list[type[Exception]]:
    found = [each for _, each in python.getmembers(module, python.isclass)]
    return [each for each in found if issubclass(each, Exception) and not issubclass(each, Warning)]


FOREIGN = [
    *exceptions_of(docker.errors),
    *exceptions_of(requests.exceptions),
    *exceptions_of(urllib3.exceptions),
    json.JSONDecodeError,
    ConnectionResetError,
    BrokenPipeError,
    TimeoutError,
]


@pytest.mark.parametrize("kind", FOREIGN, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_no_foreign_error_is_missed(kind: type[Exception]) -> None:
    error = kind.__new__(kind)  # some need arguments that do not matter here
    error.args = ("text",)
    for name, value in (("response", None), ("explanation", ""), ("msg", "text"), ("name", "x"), ("param", "x")):
        error.__dict__.setdefault(name, value)
    with pytest.raises(EngineError), translate_errors():
        raise error


def test_a_socket_with_changed_permissions_is_reported_as_such() -> None:
    """For example because the group of its file has changed with an update of the engine."""
    refused = urllib3.exceptions.ProtocolError("Connection aborted.", PermissionError(13, "Permission denied"))
    with pytest.raises(EngineUnavailableError, match="rights or the group"), translate_errors():
        raise requests.exceptions.ConnectionError(refused)
