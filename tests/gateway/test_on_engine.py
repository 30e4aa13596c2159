"""The gateway's container and shipped agents behind it, on a real engine."""

import json
from typing import Any

import pytest

from containers.gateway.usage_pages import UsageRow
from containers.programs import is_root
from tests.containers.inside import run_inside, stopped
from tests.fakes.telegram_files import upload
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
]


MOST_WHILE_IDLE = 50_000_000
"""Bytes of an assistant to whom no one writes. Measured: 29 MiB (`tests/benchmarks/README.md`)."""

# What the agent's user can read: programs, their environment and words, its secrets, its state, and all of /. In all of
# the container, its volumes and the layers of its image: tests/gateway/long/canary.py.
SEARCH = """
cat /proc/*/environ /proc/*/cmdline /run/secrets/* | tr '\\0' '\\n'; env
find / -xdev \\( -path /proc -o -path /sys -o -path /usr \\) -prune -o -type f -exec grep -l CANA'RY' {} +
find /data /run /tmp -type f -exec grep -l CANA'RY' {} +
"""


@pytest.fixture
def alice(deployed: DeployedAgent) -> DeployedAgent:
    return deployed


@pytest.fixture
def bob(neighbour: DeployedAgent) -> DeployedAgent:
    return neighbour


def chat(testbed: GatewayTestbed, agent: DeployedAgent, words: str, **more: Any) -> str:
    before = len(testbed.telegram.sent(agent.token))
    testbed.telegram.say(agent.token, 1, words, **more)
    return testbed.telegram.wait_for_message(agent.token, after=before, timeout=PATIENCE).text


def test_an_agent_without_any_credential_answers_its_chat(testbed: GatewayTestbed, alice: DeployedAgent) -> None:
    assert chat(testbed, alice, "Where is the ship?") == "You said: Where is the ship?"
    assert testbed.provider.asked()[-1].key == alice.key
    seen = testbed.control.look().sightings[alice.project]
    assert (seen.telegram_status, seen.provider_status) == (200, 200)
    assert seen.last_poll
    used = testbed.client.stats(alice.name, stream=False, one_shot=True)["memory_stats"]
    assert used["usage"] - used["stats"].get("inactive_file", 0) <= MOST_WHILE_IDLE


def test_a_voice_message_is_transcribed_answered_and_counted(testbed: GatewayTestbed, alice: DeployedAgent) -> None:
    """The audio passes from Telegram to the agent, and from the agent to the provider, each time with another
    credential.
    """
    voice = upload(testbed.telegram.add_bot(alice.token), b"OggS" + bytes(20_000))
    testbed.provider.transcribe_as("Where is the whale?")
    voiced = {"voice": voice | {"duration": 2, "mime_type": "audio/ogg"}}
    assert chat(testbed, alice, "", **voiced) == "You said: Where is the whale?"
    (sound,) = testbed.provider.asked("sound")
    assert (sound.key, sound.model) == (alice.key, "gpt-4o-mini-transcribe")

    def counted() -> list[UsageRow]:
        rows = testbed.control.usage_since(0).rows
        return [row for row in rows if (row.project, row.model) == (alice.project, sound.model) and row.requests]

    (row,) = wait_until(counted, within=PATIENCE, every=0.05)
    assert (row.requests, row.errors, row.input, row.output) == (1, 0, 3, 2)  # as the provider says


def test_a_new_key_works_with_the_next_message_in_the_same_container(
    testbed: GatewayTestbed, alice: DeployedAgent
) -> None:
    container = testbed.client.inspect_container(alice.name)["Id"]
    testbed.provider.reject(alice.key)
    alice.key += "new"
    testbed.provider.add_key(alice.key)
    testbed.tell(alice)
    assert chat(testbed, alice, "And now?") == "You said: And now?"
    assert testbed.client.inspect_container(alice.name)["Id"] == container


def test_a_new_token_works_with_the_next_message_in_the_same_container(
    testbed: GatewayTestbed, bob: DeployedAgent
) -> None:
    container = testbed.client.inspect_container(bob.name)["Id"]
    bob.token += "new"
    testbed.telegram.add_bot(bob.token)
    testbed.tell(bob)
    testbed.telegram.wait_for_poll(bob.token, timeout=PATIENCE)
    assert chat(testbed, bob, "Who are you?") == "You said: Who are you?"
    assert testbed.client.inspect_container(bob.name)["Id"] == container


def test_neither_the_agent_nor_the_engine_holds_a_real_credential(
    testbed: GatewayTestbed, alice: DeployedAgent
) -> None:
    gateway = testbed.engine.inspect_gateway()
    assert gateway
    for name in (alice.name, gateway.container_id):
        described = json.dumps(testbed.client.inspect_container(name))
        logged = testbed.client.logs(name).decode()
        for text in (described, logged):
            assert "CANARY" not in text
            assert testbed.spec.key not in text
    _, found = run_inside(testbed.client, alice.name, "sh", "-c", f"({SEARCH}) 2>/dev/null; echo searched")
    for told in ("TELEGRAM_API_BASE", alice.virtual_key, "agent", "searched"):
        assert told in found, told
    assert "CANARY" not in found
    _, kept = run_inside(testbed.client, gateway.container_id, "sh", "-c", "grep -r CANARY /data; echo looked")
    assert kept == "looked\n"


def test_another_agent_and_the_host_are_refused_without_asking_upstream(
    testbed: GatewayTestbed, alice: DeployedAgent, bob: DeployedAgent
) -> None:
    url, keyed = f"{testbed.address.url}/llm/v1/models", {"Authorization": f"Bearer {alice.virtual_key}"}
    assert testbed.ask_from(alice, url, keyed).startswith("200 ")
    assert testbed.ask_from(alice, testbed.get_me(alice)).startswith("200 ")
    asked = len(testbed.provider.asked(None)), len(testbed.telegram.calls(alice.token, "getme"))
    for answer in (testbed.ask_from(bob, url, keyed), testbed.ask_from(bob, testbed.get_me(alice))):
        assert answer.startswith("401 "), answer
    for answer in (testbed.ask_from_here(url, keyed), testbed.ask_from_here(testbed.get_me(alice))):
        assert answer.startswith("503 "), answer  # a rule on the host may have changed the agent's address
    assert asked == (len(testbed.provider.asked(None)), len(testbed.telegram.calls(alice.token, "getme")))


def test_a_void_entry_and_a_new_entry_take_effect_at_once(testbed: GatewayTestbed, bob: DeployedAgent) -> None:
    with stopped(testbed.client, bob.name):  # an agent that is told 401 ends
        testbed.void(bob)
        before = testbed.calls_of(bob)
        url, keyed = f"{testbed.address.url}/llm/v1/models", {"Authorization": f"Bearer {bob.virtual_key}"}
        assert testbed.ask_from(bob, url, keyed).startswith("401 ")
        assert testbed.ask_from(bob, testbed.get_me(bob)).startswith("401 ")
        assert testbed.calls_of(bob) == before
        testbed.tell(bob)
        assert testbed.ask_from(bob, testbed.get_me(bob)).startswith("200 ")


def test_the_gateway_comes_back_by_itself_and_knows_its_agents(testbed: GatewayTestbed, alice: DeployedAgent) -> None:
    before = testbed.engine.inspect_gateway()
    assert before
    kill_gateway(testbed, before.container_id)
    wait_until(lambda: is_back(testbed, alice), within=PATIENCE, every=0.05)
    assert chat(testbed, alice, "Still there?") == "You said: Still there?"
    after = testbed.engine.inspect_gateway()
    assert after
    assert after.container_id == before.container_id
    assert after.restart_count == (before.restart_count or 0) + 1


def kill_gateway(testbed: GatewayTestbed, container: str) -> None:
    """Kills the process as the kernel would. An engine understands its own kill as a request to keep the container
    down.
    """
    script = (
        "import os\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    words = open(f'/proc/{pid}/cmdline', 'rb').read().split(b'\\0')\n"
        "    if words[1:3] == [b'-m', b'gateway']: os.kill(int(pid), 9)\n"
    )
    run_inside(testbed.client, container, "/opt/gateway/bin/python3", "-c", script)


def is_back(testbed: GatewayTestbed, agent: DeployedAgent) -> bool:
    """Whether the gateway knows the agent's credential: to a request from this host it answers that the address is
    wrong.
    """
    return "an address that is not its own" in testbed.ask_from_here(testbed.get_me(agent))
