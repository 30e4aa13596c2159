"""Everything that an engine has of an agent of each shipped type, byte by byte: no real credential is in it.

python -m pytest tests/gateway/long/canary.py

It reads whole images and containers, some hundred megabytes each.
"""

import json
from collections.abc import Iterable

import pytest

from containers.docker_api.image_build import find_contexts
from containers.gateway.entries import ServerEntry, ServersEntry, new_virtual_pass
from containers.hardening import data_volume, secrets_volume
from containers.programs import is_root
from tests.containers.inside import run_inside
from tests.gateway.on_engine import PATIENCE, DeployedAgent, Harbour
from tests.gateway.test_on_engine import SEARCH, chat

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
]
MARK = b"CANARY"
TYPES = sorted(context.type for context in find_contexts())


def holds(pieces: Iterable[bytes], mark: bytes) -> bool:
    """Whether the mark is in a stream, also where it begins in one piece and ends in the next."""
    before, found = b"", False
    for piece in pieces:
        found = found or mark in before + piece
        before = piece[-len(mark) :]
    return found


@pytest.mark.parametrize("type_", TYPES)
def test_no_real_credential_is_in_anything_that_the_engine_has(harbour: Harbour, type_: str) -> None:
    agent = harbour.new_agent()
    server = ServerEntry(base="https://tools.example.org/mcp", header="x-api-key", value="CANARYofCANARYservers")
    agent.servers = ServersEntry(virtual=new_virtual_pass(), servers=(server,))
    harbour.tell(agent)
    given = {"AGENT_SETTINGS": json.dumps({"mcp": list(agent.servers.ways(harbour.address.url).values())})}
    harbour.deploy(agent, image=f"berth/{type_}:latest", more=given)
    harbour.telegram.wait_for_poll(agent.token, timeout=PATIENCE)
    assert chat(harbour, agent, "Anything to hide?") == "You said: Anything to hide?"
    found = harbour.client.inspect_container(agent.name)
    assert MARK not in json.dumps(found).encode()
    assert MARK not in harbour.client.logs(agent.name)
    for volume in (data_volume(agent.name), secrets_volume(agent.name)):
        assert MARK not in json.dumps(harbour.client.inspect_volume(volume)).encode()
    for path in ("/data", "/run/secrets"):
        assert not holds(harbour.client.get_archive(agent.name, path)[0], MARK), path
    assert holds(harbour.client.get_archive(agent.name, "/run/secrets")[0], agent.virtual_key.encode())
    assert not holds(harbour.client.export(agent.name), MARK)
    assert not holds(harbour.client.get_image(found["Image"]), MARK)
    # What programs have in memory alone: their environment and their words.
    _, seen = run_inside(harbour.client, agent.name, "sh", "-c", f"({SEARCH}) 2>/dev/null; echo searched")
    assert (MARK.decode() in seen, "searched" in seen, agent.virtual_key in seen) == (False, True, True)
    refuse_after_the_end(harbour, agent)


def refuse_after_the_end(harbour: Harbour, agent: DeployedAgent) -> None:
    """Stopped, and void: nobody upstream hears of who shows what was in its files."""
    harbour.engine.stop(agent.project, timeout=5)
    harbour.void(agent)
    before = harbour.calls_of(agent)
    url, keyed = f"{harbour.address.url}/llm/v1/models", {"Authorization": f"Bearer {agent.virtual_key}"}
    for answer in (harbour.ask_from_here(url, keyed), harbour.ask_from_here(harbour.get_me(agent))):
        assert answer.startswith("401 "), answer
    assert harbour.calls_of(agent) == before
