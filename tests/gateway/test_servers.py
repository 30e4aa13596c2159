"""Servers of tools, asked with credentials that their agent does not have.

The gateway runs in a thread of this process, where a test can say what names lead to.
"""

import asyncio
import http.client
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from containers.docker_api.building.image_build import IMAGES
from containers.gateway.entries import Entry, ServerEntry, ServersEntry, new_virtual_pass
from tests.agents.tool_use import server_problems
from tests.canaries import CANARY_API_KEY, find_canary
from tests.fakes.web import FakeWeb
from tests.gateway.process import PATIENCE
from tests.gateway.tunnelling import ALICE, BOB, FAR, PRIVATE, Running, run_gateway

pytestmark = pytest.mark.one_database

PASS = new_virtual_pass()
BEARER = f"Bearer {CANARY_API_KEY}"


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    yield from run_gateway(tmp_path, monkeypatch)


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb(FAR) as fake:
        fake.logins = {"/mcp": f"authorization: {BEARER}", "/search": f"x-api-key: {CANARY_API_KEY}"}
        yield fake


def at(host: str, web: FakeWeb, path: str, header: str = "authorization", value: str = BEARER) -> ServerEntry:
    return ServerEntry(base=f"http://{host}:{web.port}{path}", header=header, value=value)


def tell(
    running: Running,
    *servers: ServerEntry,
    address: str | None = ALICE,
    only_hosts: bool = False,
    hosts: Sequence[str] = (),
) -> list[str]:
    """The addresses by which Alice's agent calls them."""
    running.version += 1
    listed = ServersEntry(virtual=PASS, servers=servers, only_hosts=only_hosts)
    entry = Entry(project="alice", address=address, servers=listed, hosts=frozenset(hosts))
    running.control.apply(version=running.version, entries=[entry])
    return list(listed.ways(f"http://127.0.0.1:{running.port}").values())


def ask(running: Running, way: str, method: str = "GET", *, source: str = ALICE, body: bytes | None = None) -> Any:
    """Returns the status and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, PATIENCE, source_address=(source, 0))
    connection.request(method, "/" + way.split("/", 3)[3], body)
    try:
        with connection.getresponse() as answer:
            return answer.status, answer.read()
    finally:
        connection.close()


def test_the_assistant_s_tools_reach_servers_with_a_credential_that_it_never_sees(
    running: Running, web: FakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(IMAGES / "assistant"))
    monkeypatch.syspath_prepend(str(IMAGES / "common"))
    from assistant.tools.mcp import McpServer
    from assistant.tools.outbound import OutboundClient
    from assistant.tools.web import WebTools

    key = ("x-api-key", CANARY_API_KEY)
    servers = (at("tools.example.org", web, "/mcp"), at("search.example.org", web, "/search", *key))
    ways = tell(running, *servers, address=None)

    async def use() -> list[str]:
        outbound = OutboundClient(frozenset(), "http://127.0.0.1:9", ways)
        tools = [*await McpServer(outbound, 1, ways[0], server_problems()).list_tools()]
        tools += await WebTools(outbound, reads=False, search_url=ways[1]).list_tools()
        caller: Any = None
        given: dict[str, dict[str, Any]] = {"mcp1_tide_at": {"x": 1}, "search_web": {"query": "tides"}}
        found = [await tool.run(caller, given[tool.name]) for tool in tools if tool.name in given]
        await outbound.close()
        return found

    tide, searched = asyncio.run(use())
    assert tide.startswith("at nine")
    assert "about tides" in searched


def test_only_the_agent_asks_its_servers_and_it_asks_no_other_server(running: Running, web: FakeWeb) -> None:
    (way,) = tell(running, at("tools.example.org", web, "/page"))
    assert ask(running, way)[0] == 200
    before = len(web.requests)
    assert ask(running, way, source=BOB)[0] == 503, "Nobody has that address: a rule may have changed the agent's."
    running.tell("bob", BOB)
    assert ask(running, way, source=BOB)[0] == 401
    assert ask(running, way.replace(PASS, new_virtual_pass()))[0] in (401, 503)
    for path in (f"{way}/away", f"{way}%2Faway", way[:-1], way[:-16] + "0" * 16, way.replace("/out/", "/out//")):
        assert ask(running, path)[0] in (401, 404), path
    assert ask(running, way, "PUT")[0] == 404
    assert ask(running, f"{way}?{'q' * 3000}")[0] == 400
    assert ask(running, way, "POST", body=b"x" * (300 << 10))[0] == 413
    running.void("alice")
    assert ask(running, way)[0] == 401
    assert len(web.requests) == before


def test_a_call_ends_when_its_credential_is_replaced(running: Running, web: FakeWeb) -> None:
    server = at("tools.example.org", web, "/mcp")
    web.logins, web.streams, web.stays_open = {}, True, True
    (way,) = tell(running, server)
    connection = http.client.HTTPConnection("127.0.0.1", running.port, PATIENCE, source_address=(ALICE, 0))
    connection.request("POST", "/" + way.split("/", 3)[3], b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}')
    with connection.getresponse() as answer:
        assert answer.read(6) == b"event:"
        tell(running, server)  # the same again
        assert answer.read(10)
        tell(running, at("tools.example.org", web, "/mcp", value="Bearer another-credential"))
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
    connection.close()


def test_only_public_servers_and_only_allowed_hosts_are_asked(running: Running, web: FakeWeb) -> None:
    for host in (*PRIVATE, "missing.example.org"):
        (way,) = tell(running, at(host, web, "/page"))
        assert ask(running, way)[0] == 502, host
    assert web.requests == []
    (way,) = tell(running, at("tools.example.org", web, "/page"), only_hosts=True)
    assert ask(running, way)[0] == 403
    (way,) = tell(running, at("tools.example.org", web, "/page"), only_hosts=True, hosts=[f"*.example.org:{web.port}"])
    assert ask(running, way)[0] == 200


def test_answers_that_quote_the_credential_are_redacted_or_cut_and_redirects_are_not_followed(
    running: Running, web: FakeWeb
) -> None:
    (way,) = tell(running, at("tools.example.org", web, "/quoting"))
    status, body = ask(running, f"{way}?status=403")
    assert (status, find_canary(body), b"redacted" in body) == (403, None, True)
    with pytest.raises(http.client.HTTPException):
        ask(running, f"{way}?status=200")
    (way,) = tell(running, at("tools.example.org", web, "/quoting", value="Token harbour-pilot-seven client=12345678"))
    status, body = ask(running, f"{way}?status=403")
    assert (status, b"pilot" in body, b"redacted" in body) == (403, False, True)
    (way,) = tell(running, at("tools.example.org", web, "/inside"))
    assert ask(running, way)[0] == 502


def test_an_entry_accepts_only_valid_server_names_and_harmless_headers() -> None:
    from gateway.entries.entry import read_entry
    from gateway.entries.fields import EntryError

    def entry(**changes: str) -> dict[str, Any]:
        server = {"base": "https://tools.example.org/mcp", "header": "x-api-key", "value": "secret", **changes}
        return {"project": "p", "servers": {"virtual": "0" * 64, "only_hosts": False, "by_id": {"0" * 16: server}}}

    found = read_entry(entry())
    assert found.servers is not None
    assert "secret" not in repr(found)
    wrong = [{"base": base} for base in ("https://10.1.2.3/mcp", "https://[::1]/mcp", "https://a@b.example.org", "x")]
    wrong += [{"header": header} for header in ("host", "content-length", "x-a: b", "X-Upper", "cookie")]
    wrong += [{"value": value} for value in ("", "a\nb", "é", " a")]
    for changes in wrong:
        alone = read_entry(entry(**changes)).servers
        assert alone is not None
        assert not alone.by_id, f"{changes} keeps nothing else from counting"
    with pytest.raises(EntryError):
        read_entry({"project": "p", "servers": {"virtual": "0", "by_id": {}}})
