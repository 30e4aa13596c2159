"""The package that every image has: how it interprets answers of Telegram and of a provider, without a library."""

import ast
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from containers.docker_api.building.image_build import AGENT_BASE
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

pytestmark = pytest.mark.one_database

MODULES = sorted((AGENT_BASE.folder / "berth_agent").glob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_it_imports_only_the_standard_library_and_the_contract(module: Path) -> None:
    nodes = list(ast.walk(ast.parse(module.read_text())))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    ours = {"agent_contract", "berth_agent"}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names | ours


class Server:
    """Gives each path the answer that a test has set, and records the credentials that it receives."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.seen: list[tuple[str, str | None]] = []
        self.hang = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.seen.append((self.path, self.headers["Authorization"]))
                status, headers, body = server.answers.get(self.path, (404, {}, b"not here"))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) or 1_000_000))
                self.end_headers()
                self.wfile.write(body)
                if not body:
                    server.hang.wait(100)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.hang.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def other() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def check(base: str, key: str = "sk-key", model: str = "m") -> str | None:
    from berth_agent.preflight import check_provider
    from berth_agent.providers import guess_provider

    found = check_provider(guess_provider(key), base, key, model)
    return str(found.code) if found else None


def test_a_key_is_never_sent_to_another_host(server: Server, other: Server) -> None:
    server.answers["/v1/models/m"] = (302, {"Location": f"{other.url}/v1/models/m"}, b"moved")
    other.answers["/v1/models/m"] = (200, {}, b"{}")
    assert check(f"{server.url}/v1") == "provider_down"
    assert other.seen == []


def test_a_redirection_on_the_same_host_is_followed_with_the_key(server: Server) -> None:
    server.answers["/v1/models/m"] = (307, {"Location": "/v2/models/m"}, b"moved")
    server.answers["/v2/models/m"] = (200, {}, b"{}")
    assert check(f"{server.url}/v1") is None
    assert server.seen[-1] == ("/v2/models/m", "Bearer sk-key")


def test_a_gateway_without_model_endpoints_proves_nothing(server: Server) -> None:
    assert check(f"{server.url}/v1") is None
    assert [path for path, _ in server.seen] == ["/v1/models/m", "/v1/models?limit=1000"]


def test_a_list_without_the_model_proves_that_it_is_unknown(server: Server) -> None:
    server.answers["/v1/models?limit=1000"] = (200, {}, b'{"data": [{"id": "other"}]}')
    assert check(f"{server.url}/v1") == "provider_model"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"null", b"[" * 100_000, b'{"data": 7}', b"\xff\xfe"])
def test_an_uninformative_answer_is_no_problem(server: Server, body: bytes) -> None:
    server.answers["/v1/models/m"] = (200, {}, body)
    server.answers["/v1/key"] = server.answers["/v1/models/m/endpoints"] = (200, {}, body)
    assert check(f"{server.url}/v1") is None
    assert check(f"{server.url}/v1", "sk-or-key") is None


def test_an_answer_that_never_ends_is_waited_for_until_the_deadline(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("berth_agent.preflight.LONGEST_PROBE", 0.2)
    server.answers["/v1/models/m"] = (200, {}, b"")
    begun = time.monotonic()
    assert check(f"{server.url}/v1") == "provider_down"
    assert time.monotonic() - begun < 60
    assert check("http://127.0.0.1:9") == "provider_down"


@pytest.mark.parametrize("key", ["sk-a key", "sk-k\u00e9y", "sk-key\r\nX: y", "sk-\0"])
def test_a_key_that_fits_no_header_is_a_wrong_key(provider: FakeProvider, key: str) -> None:
    assert check(provider.api_base, key) == "provider_key"
    assert provider.asked(None) == []


def test_telegram_itself_rejects_a_token_and_no_proxy_does(telegram: FakeTelegram, token: str, server: Server) -> None:
    from berth_agent.outcome import FatalError
    from berth_agent.preflight import check_telegram

    assert check_telegram(telegram.url, token) is None
    for wrong in ("700000000:nobody-has-this-one-nobody-has-this", "70 0", "7\n8"):
        with pytest.raises(FatalError) as raised:
            check_telegram(telegram.url, wrong)
        assert raised.value.exit_code == 20
    found = check_telegram(server.url, token)
    assert found is not None
    assert found.code == "telegram_unreachable"


def test_settings_that_are_no_object_end_the_agent_with_40() -> None:
    from berth_agent.inputs import read_settings
    from berth_agent.outcome import FatalError

    assert read_settings({}) == {}
    assert read_settings({"AGENT_SETTINGS": '{"mcp": [{"url": "http://x"}]}'}) == {"mcp": [{"url": "http://x"}]}
    for odd in ("[]", "null", "7", "{", '"x"'):
        with pytest.raises(FatalError, match="AGENT_SETTINGS must be a JSON object") as raised:
            read_settings({"AGENT_SETTINGS": odd})
        assert raised.value.exit_code == 40
