"""The service's side of the protocol, with a real gateway at the other end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.agent_contract import redact_credentials
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.gateway.entries import (
    BotEntry,
    Budget,
    Entry,
    Limits,
    Price,
    ProviderEntry,
    ProviderKind,
    new_virtual_key,
    new_virtual_token,
)
from containers.gateway.protocol import GatewayClient, Standing
from tests.gateway.process import Gateway
from tests.gateway.secured import listen_secured, secured
from tests.gateway.socket_transport import SocketTransport
from tests.gateway.unpacked import unpack_image

pytestmark = pytest.mark.one_database


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("gateway")
    gateway = Gateway(unpack_image(folder / "image"), folder)
    listen_secured(gateway)
    gateway.start()
    yield gateway
    gateway.kill()


@pytest.fixture(params=["socket", "tls"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(gateway: Gateway, way: str) -> GatewayClient:
    transport = SocketTransport(Path(gateway.env["GATEWAY_SOCKET"])) if way == "socket" else secured(gateway)
    return GatewayClient(transport, within=100)


def entry(project: str) -> Entry:
    provider = ProviderEntry(
        virtual_key=new_virtual_key(ProviderKind.ANTHROPIC),
        key="sk-ant-CANARY",
        kind=ProviderKind.ANTHROPIC,
        base="https://api.anthropic.com/v1",
    )
    return Entry(
        project=project,
        address="10.1.2.3",
        bot=BotEntry(virtual_token=new_virtual_token(77), token="77:CANARY"),
        provider=provider,
        models=frozenset({"claude"}),
        prices={"claude": Price(input=1, output=2, cached=0)},
        limits=Limits(parallel=4),
        budget=Budget(day_tokens=1000),
    )


def test_an_entry_is_in_force_once_it_is_acknowledged(client: GatewayClient, way: str) -> None:
    one, two = f"{way}-1", f"{way}-2"
    assert client.apply(version=3, entries=[entry(one), entry(two)]) == {one: 3, two: 3}
    assert client.apply(version=4, void=[two]) == {two: 4}
    assert client.apply(version=2, entries=[entry(two)]) == {two: 4}
    found = client.versions()
    assert (found[one], found[two]) == (Standing(3, is_void=False), Standing(4, is_void=True))


def test_tombstones_are_left_out_unless_they_are_asked_for(client: GatewayClient, way: str) -> None:
    """A gateway keeps those of all projects that were ever deleted."""
    valid, void, named = f"{way}-a-valid", f"{way}-a-void", f"{way}-a-named"
    client.apply(version=3, entries=[entry(valid)], void=[void, named])
    found = client.versions(among=[named, f"{way}-unknown"])
    assert {key for key in found if key.startswith(f"{way}-a")} == {valid, named}
    assert found[named] == Standing(3, is_void=True)


def test_a_message_that_is_too_large_is_sent_in_parts(
    client: GatewayClient, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("containers.gateway.messages.LARGEST_MESSAGE", 1500)
    many = [f"{way}-b-{n}" for n in range(9)]
    assert client.apply(version=3, entries=map(entry, many), void=[f"{way}-b"]) == dict.fromkeys([*many, f"{way}-b"], 3)


def test_usage_and_sightings_are_read(client: GatewayClient) -> None:
    page = client.usage_since(0)
    assert (page.rows, page.has_more, page.seq) == ((), False, 0)
    assert client.look().sightings == {}
    assert client.ping() == 1


def test_a_refusal_does_not_quote_the_entry(client: GatewayClient) -> None:
    document = Entry(project="three", address="CANARY")
    with pytest.raises(EngineRefusedError, match="address is not an IP address"):
        client.apply(version=1, entries=[document])


def test_no_gateway_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailableError):
        GatewayClient(SocketTransport(tmp_path / "nowhere")).ping()


ANSWERS: list[object] = [None, [], {}, {"ok": 1}, {"ok": False}, {"ok": True}, {"ok": True, "versions": 5}]
ANSWERS += [{"ok": True, "versions": {"a": 5}}, {"ok": True, "versions": {"a": {"version": "5"}}}]


@pytest.mark.parametrize("answer", ANSWERS)
def test_junk_for_an_answer_is_an_error_of_the_engine(answer: object) -> None:
    class Junk:
        def exchange(self, line: bytes, *, within: float) -> bytes:
            return json.dumps(answer).encode() + b"\n"

        def prepare(self, *, within: float) -> None:
            raise NotImplementedError

    with pytest.raises(EngineError):
        GatewayClient(Junk()).versions()


@pytest.mark.parametrize("kind", ProviderKind)
def test_virtual_credentials_have_the_shape_of_real_ones_and_are_redacted_like_them(kind: ProviderKind) -> None:
    key, token = new_virtual_key(kind), new_virtual_token(123_456_789)
    beginnings = {ProviderKind.ANTHROPIC: "sk-ant-", ProviderKind.OPENROUTER: "sk-or-"}
    assert key.startswith(beginnings.get(kind, "sk-"))
    assert key != new_virtual_key(kind)
    for credential in (key, token):
        assert "bvk_" not in redact_credentials(f"so {credential} it was")
    assert key not in repr(ProviderEntry(virtual_key=key, key="k", kind=kind, base="b"))
