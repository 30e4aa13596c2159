"""Only the dry run asks tool servers whether they would accept an agent."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.public_http import AddressRefusedError, NoAnswerError
from projects.credentials import tool_servers
from tests.fakes.engine import MemoryEngine
from tests.fakes.web import FakeWeb

KEY = "sk-tools-CANARYcanaryCANARY"
SCHEMA = {"properties": {"mcp": {"type": "array"}, "keys": {"type": "array", "x-berth-credentials": True}}}
HOST = "tools.example.org"
ADDRESS = f"https://{HOST}/mcp"


@pytest.mark.parametrize(
    ("answer", "with_key", "code"),
    [
        (200, False, None), (202, True, None), (401, False, "tools_login"), (401, True, "tools_refused"),
        (403, False, "tools_unverified"), (404, True, "tools_unverified"), (302, False, "tools_unverified"),
        (NoAnswerError("It did not answer."), False, "tools_unverified"), (AddressRefusedError("no"), False, None),
    ],
)  # fmt: skip
def test_a_server_s_answer_causes_at_most_a_warning(
    monkeypatch: pytest.MonkeyPatch, settings: Any, answer: Any, with_key: bool, code: str | None
) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = True
    sent: list[str | None] = []

    def post(url: str, body: bytes, headers: dict[str, str], *, within: float, asker: str) -> int:
        assert (url, b"initialize" in body, within > 0, asker) == (ADDRESS, True, True, "7")
        sent.append(headers.get("authorization"))
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    monkeypatch.setattr(tool_servers, "post", post)
    chosen = {"mcp": [f" {ADDRESS}", 5], "keys": [f"{ADDRESS} {KEY}"] if with_key else []}
    warnings = tool_servers.look_at_servers(SCHEMA, chosen, asker="7")
    assert [warning.partition(":")[0] for warning in warnings] == ([code] if code else [])
    assert all(HOST in warning and KEY not in warning for warning in warnings)
    assert sent == [f"Bearer {KEY}" if with_key else None]


def test_a_slow_server_leaves_the_others_their_time(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.BERTH_VERIFY_CREDENTIALS = True
    given: list[float] = []

    def post(*_: Any, within: float, asker: str) -> int:
        assert asker
        given.append(within)
        return 200

    monkeypatch.setattr(tool_servers, "post", post)
    named = {"mcp": [f"{ADDRESS}/{number}" for number in range(9)]}
    assert tool_servers.look_at_servers(SCHEMA, named, asker="7") == ()
    assert len(given) == tool_servers.MOST
    assert given == sorted(given)
    assert given[0] <= tool_servers.LIMIT / tool_servers.MOST


@pytest.mark.usefixtures("credentials_are_verified")
def test_only_a_dry_run_checks_tool_servers(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_servers, "LIMIT", 100.0)
    with FakeWeb() as web:
        settings.BERTH_WEBHOOK_ALLOW = [("127.0.0.1/32", web.port)]
        web.logins = {"/mcp/locked": "authorization: Bearer nobody-has-this-one"}
        wanted = body | {"settings": {"mcp": [f"{web.url}/mcp", f"{web.url}/mcp/locked"]}}
        answer = api.post("/api/projects/validate", wanted)
        assert (answer.status_code, answer.json()["valid"]) == (200, True)
        [warning] = answer.json()["warnings"]
        assert warning.startswith("tools_login: 127.0.0.1 asks for a sign-in.")
        asked = len(web.requests)
        assert api.post("/api/projects", wanted).status_code == 201
        assert len(web.requests) == asked == 2
