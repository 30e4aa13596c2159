"""Rows of the table (`table.py`): each type as Berth deploys it, behind a real gateway, with virtual credentials."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.gateway.entries import Budget, Spent
from containers.programs import is_root
from tests.agents.confined import MEBIBYTE, YOU
from tests.fakes.telegram_bot import Sent
from tests.gateway.on_engine import PATIENCE, DeployedAgent, Harbour
from tests.waiting import wait_until

PLENTY = 10**9  # tokens; no question of these agents takes as many
needs_root = pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules")


@pytest.fixture(scope="module")
def harbour() -> Iterator[Harbour]:
    with Harbour().open() as harbour:
        yield harbour


@pytest.fixture
def behind(image_of: str, harbour: Harbour) -> Iterator[DeployedAgent]:
    """The gateway has not been told of it, and it is not deployed: a test does both when it has set the scene."""
    agent = harbour.new_agent()
    yield agent
    harbour.engine.remove(agent.project, volumes=True)
    harbour.void(agent)


def deploy(harbour: Harbour, agent: DeployedAgent, kind: str) -> None:
    harbour.tell(agent)
    environment = {
        "TELEGRAM_API_BASE": f"{harbour.address.url}/tg",
        "AGENT_API_BASE": f"{harbour.address.url}/llm/v1",
        "AGENT_PROVIDER": "openai",
        "AGENT_MODEL": "gpt-5.4-mini",
        "AGENT_ALLOWED_USERS": str(YOU),
        "AGENT_WATCH_SECONDS": "1",
    }
    limits: dict[str, Any] = {"memory": 512 * MEBIBYTE, "nano_cpus": 1_000_000_000, "pids": 128, "stop_timeout": 15}
    harbour.deploy(agent, image=f"berth/{kind}:latest", environment=environment, **limits)


def output(harbour: Harbour, agent: DeployedAgent) -> str:
    return str(harbour.client.logs(agent.name).decode("utf-8", "replace"))


def ask(harbour: Harbour, agent: DeployedAgent, text: str) -> Sent:
    harbour.telegram.say(agent.token, YOU, text)
    try:
        return harbour.telegram.wait_for_message(agent.token, containing=text, timeout=PATIENCE)
    except TimeoutError as error:
        raise TimeoutError(output(harbour, agent)) from error


def wait_for_report(harbour: Harbour, agent: DeployedAgent, *words: str) -> None:
    signs = [json.dumps(word) for word in words]
    wait_until(
        lambda: any(all(sign in line for sign in signs) for line in output(harbour, agent).splitlines()),
        within=PATIENCE,
        what=lambda: f"never {words}:\n{output(harbour, agent)}",
        every=0.3,
    )


@needs_root
def test_behind_the_gateway_it_answers_until_its_budget_is_reached(
    harbour: Harbour, behind: DeployedAgent, kind: str
) -> None:
    """It says so and goes on running, and answers again with a higher one. It never sees a real credential."""
    deploy(harbour, behind, kind)
    assert "You said: Where is the ship?" in ask(harbour, behind, "Where is the ship?").text
    assert harbour.provider.asked()[-1].key == behind.key
    month = f"{datetime.now(UTC):%Y-%m}"
    behind.budget, behind.spent = (
        Budget(month_tokens=PLENTY),
        (Spent(store="elsewhere", period=month, tokens=PLENTY, money=0),),
    )
    harbour.tell(behind)
    asked, before = len(harbour.provider.asked()), len(harbour.telegram.sent(behind.token))
    harbour.telegram.say(behind.token, YOU, "And for nothing?")
    wait_for_report(harbour, behind, "degraded", "provider_credit")
    harbour.telegram.wait_for_message(behind.token, after=before, timeout=PATIENCE)  # it has said so, and tries no more
    assert len(harbour.provider.asked()) == asked
    behind.budget = Budget()
    harbour.tell(behind)
    ask(harbour, behind, "And now?")
    facts = json.dumps(harbour.client.inspect_container(behind.name))
    assert "CANARY" not in output(harbour, behind) + facts


@needs_root
def test_30_behind_the_gateway_a_key_that_the_provider_rejects(
    harbour: Harbour, behind: DeployedAgent, kind: str
) -> None:
    harbour.provider.reject(behind.key)
    deploy(harbour, behind, kind)
    wait_for_report(harbour, behind, "failed", "provider_key")
    wait_until(
        lambda: harbour.client.inspect_container(behind.name)["State"]["ExitCode"] == 30,
        within=PATIENCE,
        what=lambda: output(harbour, behind),
        every=0.3,
    )
