"""On a real engine: the supervisor in the shipped container replaces a gateway that stands still, as shipped."""

import os
import signal

import pytest

from containers.gateway.entries import Budget
from containers.programs import is_root
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.gateway.test_control_on_engine import last_child
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.rare(4),
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
]

BUDGET = 300
"""Tokens, enough for a few calls."""


@pytest.fixture
def agent(testbed: GatewayTestbed) -> DeployedAgent:
    """One of its own, because its budget is used up."""
    return testbed.settle()


def ask(testbed: GatewayTestbed, agent: DeployedAgent) -> str:
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Go on."}], "max_tokens": 5}
    url, login = f"{testbed.address.url}/llm/v1/chat/completions", {"Authorization": f"Bearer {agent.virtual_key}"}
    return testbed.ask_from(agent, url, login, body).partition(" ")[0]


def spent(testbed: GatewayTestbed, agent: DeployedAgent) -> int:
    rows = testbed.control.usage_since(0).rows
    return sum(row.input + row.output for row in rows if row.project == agent.project)


def test_a_gateway_that_stands_still_is_replaced_and_overspends_no_budget(
    testbed: GatewayTestbed, agent: DeployedAgent
) -> None:
    found = testbed.engine.inspect_gateway()
    assert found
    agent.budget = Budget(day_tokens=BUDGET)
    testbed.tell(agent)
    assert ask(testbed, agent) == "200"
    before = testbed.client.inspect_container(found.container_id)["State"]
    hung = last_child(before["Pid"])
    os.kill(hung, signal.SIGSTOP)
    wait_until(lambda: last_child(before["Pid"]) != hung, within=PATIENCE, every=0.2)
    wait_until(lambda: testbed.ask_from(agent, testbed.get_me(agent)).startswith("200 "), within=PATIENCE)

    def is_used_up() -> bool:
        status = ask(testbed, agent)
        assert status in {"200", "413", "429"}  # the last call may be larger than what is left
        return status != "200"

    wait_until(is_used_up, within=PATIENCE)
    calls = [each for each in testbed.provider.asked() if each.key == agent.key]
    assert calls
    assert 0 < spent(testbed, agent) <= BUDGET
    after = testbed.client.inspect_container(found.container_id)["State"]
    assert after["StartedAt"] == before["StartedAt"]  # the container goes on, with its networks and addresses
    testbed.telegram.say(agent.token, 1, "Still there?")
    assert testbed.telegram.wait_for_message(agent.token, timeout=PATIENCE).text
    assert "does not go on" in testbed.client.logs(found.container_id, tail=50).decode()
