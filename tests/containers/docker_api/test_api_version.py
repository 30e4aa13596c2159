"""The version of the API in which an engine is asked."""

import pytest

from containers.docker_api.api_version import NEWEST_API, OLDEST_API, choose_version
from containers.docker_api.client import Connection
from containers.docker_api.errors import GARBLED
from containers.errors import EngineUnavailableError
from tests.fakes.docker_socket import FaultySocket

pytestmark = pytest.mark.one_database
NEWEST = int(NEWEST_API.partition(".")[2])


@pytest.mark.every_case
@pytest.mark.parametrize("newest", range(38, 80, 3))
@pytest.mark.parametrize("oldest", [None, 12, 24, 44, 60])
def test_the_engine_accepts_the_version_and_the_tests_have_spoken_it(newest: int, oldest: int | None) -> None:
    minimum = {} if oldest is None else {"MinAPIVersion": f"1.{oldest}"}
    chosen = int(choose_version({"ApiVersion": f"1.{newest}", **minimum}).partition(".")[2])
    assert chosen == min(newest, max(NEWEST, oldest or 0))


@pytest.mark.parametrize(
    ("engine", "spoken"),
    [
        ({"ApiVersion": "1.41", "MinAPIVersion": "1.12"}, OLDEST_API),
        ({"ApiVersion": "1.45", "MinAPIVersion": "1.24"}, "1.45"),
        ({"ApiVersion": "1.52", "MinAPIVersion": "1.44"}, NEWEST_API),
        ({"ApiVersion": "1.152", "MinAPIVersion": "1.100"}, "1.100"),
        ({"ApiVersion": "1.52", "MinAPIVersion": ""}, NEWEST_API),
    ],
)
def test_known_engines(engine: dict[str, str], spoken: str) -> None:
    assert choose_version(engine) == spoken


@pytest.mark.parametrize(
    "answer",
    [{}, [], None, "1.41", {"ApiVersion": None}, {"ApiVersion": 1.41}, {"ApiVersion": ""}, {"ApiVersion": "1"}]
    + [{"ApiVersion": value} for value in ("1.x", "2.0", "1.41/../..", "1.4\n", "1.٤١", "1." + "9" * 5000, "v1.41")]
    + [{"ApiVersion": "1.41", "MinAPIVersion": value} for value in ("x", 1, ["1.41"], "1.44\r\nX: y")],
)
def test_what_is_no_version_is_not_spoken(answer: object) -> None:
    with pytest.raises(EngineUnavailableError, match=GARBLED):
        choose_version(answer)  # type: ignore[arg-type]  # what an engine may send


def test_an_engine_that_is_too_new_is_asked_in_the_newest_known_version(daemon: FaultySocket) -> None:
    daemon.api = "1.99"
    with Connection().call() as client:
        client.ping()
        assert client.api_version == NEWEST_API
    assert any(request.startswith(f"GET /v{NEWEST_API}/_ping ") for request in daemon.requests)
