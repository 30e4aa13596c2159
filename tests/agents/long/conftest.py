"""An agent of each type that `--agents` names, in a real container between the fakes."""

from collections.abc import Callable, Iterator
from io import StringIO
from uuid import uuid4

import docker
import pytest
from django.core.management import call_command

from tests.agents.confined import TYPES, YOU, Confined
from tests.agents.conftest import new_token
from tests.engines import address_of_host, connect
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.instances import note_instance


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--agents")
        metafunc.parametrize("kind", TYPES if wanted == "all" else wanted.split(","), scope="module")


@pytest.fixture(scope="module")
def image_of(kind: str) -> str:
    """Builds the image if it is missing or older than its files."""
    call_command("build_images", kind, "--no-pull", stdout=StringIO())
    return kind


@pytest.fixture(scope="module")
def client() -> Iterator[docker.APIClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="module")
def instance() -> str:
    return note_instance(f"t-{uuid4().hex[:8]}")


@pytest.fixture(scope="module")
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram(host=address_of_host()) as fake:
        yield fake


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(host=address_of_host()) as fake:
        yield fake


@pytest.fixture
def agent(
    image_of: str, instance: str, client: docker.APIClient, telegram: FakeTelegram, provider: FakeProvider, key: str
) -> Iterator[Confined]:
    """An agent that is not started yet, so that the test can prepare the fakes first."""
    environment = {
        "TELEGRAM_API_BASE": telegram.url,
        "AGENT_API_BASE": provider.api_base,
        "AGENT_MODEL": "gpt-5.4-mini",
        "AGENT_ALLOWED_USERS": str(YOU),
        "AGENT_CONFLICT_SECONDS": "3",
        "AGENT_WATCH_SECONDS": "1",
    }
    secrets = {"telegram_bot_token": new_token(telegram), "agent_api_key": key}
    agent = Confined(client, instance, image_of, environment, secrets)
    yield agent
    agent.remove()


@pytest.fixture
def bot(agent: Confined) -> str:
    return agent.secrets["telegram_bot_token"]


@pytest.fixture
def ask(telegram: FakeTelegram, bot: str) -> Callable[[str], str]:
    """Returns the answer to a new text, no matter whether the agent sends a message or edits one."""

    def say_and_wait(text: str) -> str:
        telegram.say(bot, YOU, text)
        return telegram.wait_for_message(bot, containing=f"You said: {text}", timeout=100).text

    return say_and_wait
