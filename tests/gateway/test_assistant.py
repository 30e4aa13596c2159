"""The shipped agent behind the gateway, unchanged: only its secret files hold virtual values."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from containers.gateway.entries import ProviderKind, new_virtual_key, new_virtual_token
from tests.agents.agent import Agent as Assistant
from tests.agents.agent import lay_out
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.process import PATIENCE, Gateway, digest

pytestmark = pytest.mark.one_database

PROJECT = "assistant-behind-the-gateway"
TOKEN = "755555555:CANARYtokenCANARYtokenCANARYtoken55"
KEYS = {
    ProviderKind.OPENAI: "sk-CANARYkeyCANARYkeyCANARYkey55",
    ProviderKind.ANTHROPIC: "sk-ant-CANARYkeyCANARYkeyCANARYkey55",
}
TODAY = [(datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%d") for days in (0, 1)]
BUDGETS: list[tuple[dict[str, Any], str]] = [
    ({"budget": {"day_tokens": 600}}, "may cost more than what is left of my budget"),
    (
        {
            "budget": {"day_tokens": 9000},
            "spent": [{"store": "another", "period": day, "tokens": 8400, "money": 0} for day in TODAY],
        },
        "I have used up my budget. I can answer again from 20",  # what is left has no room for what was asked before
    ),
    ({"budget": {"day_tokens": 0}}, "I have used up my budget. I can answer again from 20"),
]


@pytest.fixture(scope="module")
def assistant_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("assistant-image"))


@pytest.fixture
def model() -> Iterator[FakeProvider]:
    with FakeProvider() as fake:
        yield fake


@pytest.fixture
def tell(gateway: Gateway, telegram: FakeTelegram, model: FakeProvider) -> Iterator[Callable[..., None]]:
    """Tells the gateway of the agent, with this key."""

    def tell(kind: ProviderKind, virtual_key: str, virtual_token: str, key: str, **more: object) -> None:
        model.add_key(key)
        bot = {"virtual": digest(virtual_token.partition(":")[2]), "token": TOKEN, "base": telegram.url}
        provider = {"virtual": digest(virtual_key), "key": key, "kind": kind.value, "base": model.api_base}
        gateway.apply({"project": PROJECT, "address": "127.0.0.1", "telegram": bot, "provider": provider} | more)

    yield tell
    gateway.apply(void=(PROJECT,))


@pytest.mark.parametrize("kind", [ProviderKind.OPENAI, ProviderKind.ANTHROPIC])
def test_a_bot_without_any_credential_answers_and_a_new_key_works_without_a_restart(
    kind: ProviderKind,
    assistant_image: Path,
    tmp_path: Path,
    gateway: Gateway,
    telegram: FakeTelegram,
    model: FakeProvider,
    tell: Callable[..., None],
) -> None:
    telegram.add_bot(TOKEN)
    key, token = new_virtual_key(kind), new_virtual_token(755_555_555)
    tell(kind, key, token, KEYS[kind])
    agent = Assistant(assistant_image, tmp_path, telegram, model, token, key)
    try:
        agent.start(TELEGRAM_API_BASE=f"{gateway.url}/tg", AGENT_API_BASE=f"{gateway.url}/llm/v1").wait_for("running")
        telegram.say(TOKEN, 1, "Where is the ship?")
        assert telegram.wait_for_message(TOKEN, timeout=PATIENCE).text == "You said: Where is the ship?"
        assert model.asked()[-1].key == KEYS[kind]
        # In this order, because the agent looks at its provider by itself, and a refused look counts as an error.
        tell(kind, key, token, f"{KEYS[kind]}new")
        model.reject(KEYS[kind])
        telegram.say(TOKEN, 1, "And now?")
        words = telegram.wait_for_message(TOKEN, after=1, timeout=PATIENCE).text
        assert words == "You said: And now?"
        for number, (budget, said) in enumerate(BUDGETS):
            tell(kind, key, token, f"{KEYS[kind]}new", **budget)
            telegram.say(TOKEN, 1, "And with so little?")
            assert said in telegram.wait_for_message(TOKEN, after=2 + number, timeout=PATIENCE).text
        assert "CANARY" not in agent.output
    finally:
        agent.kill()
    assert gateway.settled(PROJECT, 2)["errors"] == 0
    assert all(b"CANARY" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
