"""Rows of the table (`table.py`) for each type as Berth deploys it: behind a real gateway, with virtual credentials."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.gateway.entries import Budget, Spent
from containers.programs import is_root
from tests.agents.confined import MEBIBYTE, YOU
from tests.fakes.telegram_bot import Sent
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.waiting import wait_until

PLENTY = 10**9  # tokens; no question of these agents uses that many
needs_root = pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules")


@pytest.fixture(scope="module")
def testbed() -> Iterator[GatewayTestbed]:
    with GatewayTestbed().open() as testbed:
        yield testbed


@pytest.fixture
def behind(image_of: str, testbed: GatewayTestbed) -> Iterator[DeployedAgent]:
    """An agent that is neither deployed nor known to the gateway yet. The test does both after its preparations."""
    agent = testbed.new_agent()
    yield agent
    testbed.engine.remove(agent.project, volumes=True)
    testbed.void(agent)


def deploy(testbed: GatewayTestbed, agent: DeployedAgent, kind: str) -> None:
    testbed.tell(agent)
    environment = {
        "TELEGRAM_API_BASE": f"{testbed.address.url}/tg",
        "AGENT_API_BASE": f"{testbed.address.url}/llm/v1",
        "AGENT_PROVIDER": "openai",
        "AGENT_MODEL": "gpt-5.4-mini",
        "AGENT_ALLOWED_USERS": str(YOU),
        "AGENT_WATCH_SECONDS": "1",
    }
    limits: dict[str, Any] = {"memory": 512 * MEBIBYTE, "nano_cpus": 1_000_000_000, "pids": 128, "stop_timeout": 15}
    testbed.deploy(agent, image=f"berth/{kind}:latest", environment=environment, **limits)


def output(testbed: GatewayTestbed, agent: DeployedAgent) -> str:
    return str(testbed.client.logs(agent.name).decode("utf-8", "replace"))


def ask(testbed: GatewayTestbed, agent: DeployedAgent, text: str) -> Sent:
    testbed.telegram.say(agent.token, YOU, text)
    try:
        return testbed.telegram.wait_for_message(agent.token, containing=text, timeout=PATIENCE)
    except TimeoutError as error:
        raise TimeoutError(output(testbed, agent)) from error


def wait_for_report(testbed: GatewayTestbed, agent: DeployedAgent, *words: str) -> None:
    signs = [json.dumps(word) for word in words]
    wait_until(
        lambda: any(all(sign in line for sign in signs) for line in output(testbed, agent).splitlines()),
        within=PATIENCE,
        what=lambda: f"never {words}:\n{output(testbed, agent)}",
        every=0.3,
    )


@needs_root
def test_behind_the_gateway_it_answers_until_its_budget_is_reached(
    testbed: GatewayTestbed, behind: DeployedAgent, kind: str
) -> None:
    """The agent says so, keeps running, and answers again with a higher budget. It never sees a real credential."""
    deploy(testbed, behind, kind)
    assert "You said: Where is the ship?" in ask(testbed, behind, "Where is the ship?").text
    assert testbed.provider.asked()[-1].key == behind.key
    month = f"{datetime.now(UTC):%Y-%m}"
    behind.budget, behind.spent = (
        Budget(month_tokens=PLENTY),
        (Spent(store="elsewhere", period=month, tokens=PLENTY, money=0),),
    )
    testbed.tell(behind)
    asked, before = len(testbed.provider.asked()), len(testbed.telegram.sent(behind.token))
    testbed.telegram.say(behind.token, YOU, "And for nothing?")
    wait_for_report(testbed, behind, "degraded", "provider_credit")
    testbed.telegram.wait_for_message(behind.token, after=before, timeout=PATIENCE)  # the sentence about its budget
    assert len(testbed.provider.asked()) == asked
    behind.budget = Budget()
    testbed.tell(behind)
    ask(testbed, behind, "And now?")
    facts = json.dumps(testbed.client.inspect_container(behind.name))
    assert "CANARY" not in output(testbed, behind) + facts


@needs_root
def test_30_behind_the_gateway_a_key_that_the_provider_rejects(
    testbed: GatewayTestbed, behind: DeployedAgent, kind: str
) -> None:
    testbed.provider.reject(behind.key)
    deploy(testbed, behind, kind)
    wait_for_report(testbed, behind, "failed", "provider_key")
    wait_until(
        lambda: testbed.client.inspect_container(behind.name)["State"]["ExitCode"] == 30,
        within=PATIENCE,
        what=lambda: output(testbed, behind),
        every=0.3,
    )
