"""Docker 29 refuses versions of its API before 1.44, also from the proxy itself."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.socket_proxy import probe
from containers.socket_proxy.routes import UNVERSIONED, Rule
from tests.containers.socket_proxy.kept_wire import V, one_of_each
from tests.containers.socket_proxy.wire import TOO_OLD, Wire, running_wire, status_of

pytestmark = pytest.mark.one_database
REQUESTS = {name: each[1] for name, each in one_of_each().items() if each[0] not in {Rule.LOGS, Rule.RUN}}


@pytest.fixture
def recent(tmp_path: Path) -> Iterator[Wire]:
    """A proxy that knows no container yet."""
    with running_wire(tmp_path, wire=Wire(tmp_path, oldest=44)) as wire:
        yield wire


@pytest.mark.parametrize("version", ["/v1.44", "/v1.52", "/v1.99"])
@pytest.mark.parametrize("name", REQUESTS)
def test_the_proxy_asks_in_the_version_of_the_request(recent: Wire, name: str, version: str) -> None:
    assert status_of(recent.send(REQUESTS[name].replace(V.encode(), version.encode(), 1))) == 200
    assert all(line.startswith(f"GET {version}/".encode()) for line in recent.asked)


def test_a_client_with_an_older_version_hears_the_engine_s_refusal(recent: Wire) -> None:
    """It then asks for the engine's version, and speaks that one."""
    refused = {name for name, request in REQUESTS.items() if _is_refused(recent, request)}
    assert len(refused) > 10
    assert {"DELETE /containers/{id}", "DELETE /networks/{name}", "DELETE /volumes/{name}"} <= refused
    assert len(recent.asked) == len(refused)


def _is_refused(wire: Wire, request: bytes) -> bool:
    answer = wire.send(request)
    assert not (said := re.search(rb"too old.*", answer)) or said[0] in TOO_OLD
    return status_of(answer) == 400


def test_the_health_check_speaks_no_version(recent: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOCKET_PROXY_LISTEN", str(recent.folder / "proxy"))
    assert probe.main() == 0
    recent.settle()
    assert [head.split(b"\r\n")[0] for head in recent.came] == [f"GET {UNVERSIONED} HTTP/1.1".encode()]


def test_the_health_check_fails_without_an_engine(recent: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOCKET_PROXY_LISTEN", str(recent.folder / "proxy"))
    (recent.folder / "engine").unlink()
    assert probe.main() == 1
