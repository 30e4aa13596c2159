"""The fakes, and an agent between them. Each test has its own token and key, which must not appear anywhere."""

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.agents.agent import Agent, lay_out
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.fakes.web import FakeWeb

numbers = count(700_000_001)


@pytest.fixture(scope="session", autouse=True)
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of the image, including those of its base image. Tests can import them."""
    folder = lay_out(tmp_path_factory.mktemp("image"))
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram() as fake:
        yield fake


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as fake:
        yield fake


@pytest.fixture
def token(telegram: FakeTelegram) -> str:
    return new_token(telegram)


def new_token(telegram: FakeTelegram) -> str:
    token = f"{next(numbers)}:CANARYtokenCANARYtokenCANARYtoken01"
    telegram.add_bot(token, "canary_bot")
    return token


@pytest.fixture
def key(provider: FakeProvider) -> str:
    key = "sk-CANARYkeyCANARYkeyCANARYkeyCANARYkey"
    provider.add_key(key)
    return key


@pytest.fixture
def agent(
    image: Path, tmp_path: Path, telegram: FakeTelegram, provider: FakeProvider, token: str, key: str
) -> Iterator[Agent]:
    """An agent that is not started yet, so that the test can prepare the fakes first."""
    agent = Agent(image, tmp_path, telegram, provider, token, key)
    yield agent
    agent.kill()


@pytest.fixture
def ask(agent: Agent, telegram: FakeTelegram, token: str) -> Callable[..., str]:
    """A function that sends a message to the bot and returns the bot's next message in that chat."""

    def say_and_wait(text: str, chat_id: int = 1, **extra: Any) -> str:
        before = len(telegram.sent(token, chat_id))
        telegram.say(token, chat_id, text, **extra)
        return telegram.wait_for_message(token, after=before, chat_id=chat_id, timeout=100).text

    return say_and_wait


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb() as fake:
        yield fake
