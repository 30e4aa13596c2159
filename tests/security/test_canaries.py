"""Credentials through the whole life of a project, while everything around it fails: none comes out anywhere.

The nets of `tests.canaries` search every answer, and every log line at DEBUG, of these tests as of all others. These
tests also search what the nets do not see: rows, sessions, mails, and what the engine is told apart from the secrets
themselves.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core import mail

from accounts.models import User
from containers.errors import (
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    ImageMissingError,
    NameTakenError,
    SupersededError,
)
from projects.credentials import verification
from projects.models import Project
from tests import canaries
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
    find_canary,
)
from tests.clients import api_of
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.mailing import deliver
from tests.people import email_of
from tests.security.whole_life import live_through

pytestmark = pytest.mark.one_database

VERBS = (
    "ping", "image_exists", "deploy", "deploy.create", "deploy.confirm", "deploy.start", "start", "stop", "remove",
    "inspect", "observe", "logs", "stats",
)  # fmt: skip
ERRORS = (
    EngineUnavailableError, EngineRefusedError, ImageMissingError, NameTakenError, SupersededError, EngineError,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _mail_is_configured(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True


@pytest.fixture
def life(alice: User, sam: User, engine: MemoryEngine) -> Callable[[], None]:
    """Does everything that can be done with a project, no matter what the result is."""
    return lambda: live_through(alice, sam, engine)


def look_everywhere(engine: MemoryEngine) -> Iterator[str]:
    """Searches what the nets of the suite do not search."""
    deliver()
    for model in apps.get_models():
        yield str(list(model._default_manager.values()))
    yield from (str(session.get_decoded()) for session in Session.objects.all())
    yield from (f"{message.subject} {message.body} {message.recipients()}" for message in mail.outbox)
    yield str(engine.calls)
    for container in engine.containers.values():
        yield f"{container.name} {container.labels} {container.spec}"


def assert_nothing_leaked(engine: MemoryEngine) -> None:
    assert [text for text in look_everywhere(engine) if find_canary(text)] == []
    assert canaries.leaks == []


@pytest.mark.sampled(12)
@pytest.mark.parametrize("verb", VERBS)
def test_a_failing_engine_leaks_no_credential(
    life: Callable[[], None], alice: User, engine: MemoryEngine, is_long: bool, verb: str
) -> None:
    for error in ERRORS if is_long else [ERRORS[VERBS.index(verb) % 2]]:
        deploy_project(api_of(alice))
        engine.fail(verb, error, times=1000)
        life()
        assert_nothing_leaked(engine)
        Project.objects.all().delete()
        engine.reset()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("verb", ["deploy", "start", "stop", "remove"])
def test_an_engine_whose_answers_are_lost_leaks_no_credential(
    life: Callable[[], None], engine: MemoryEngine, verb: str
) -> None:
    engine.lose(verb, times=1000)
    life()
    assert_nothing_leaked(engine)


def test_a_silent_engine_leaks_no_credential(life: Callable[[], None], alice: User, engine: MemoryEngine) -> None:
    deploy_project(api_of(alice))
    engine.unavailable = True
    life()
    assert_nothing_leaked(engine)


def test_an_engine_that_breaks_its_promises_leaks_no_credential(alice: User, engine: MemoryEngine) -> None:
    """A 500, whose traceback is logged."""

    def explode() -> None:
        raise RuntimeError("Nobody foresaw this.")

    client = api_of(alice)
    client.raise_request_exception = False
    engine.slow("deploy", explode)
    assert client.post("/api/projects", PROJECT).status_code == 500
    assert_nothing_leaked(engine)


TELEGRAM: dict[str, Callable[[FakeTelegram], object]] = {
    "well": lambda fake: None,
    "revoked": lambda fake: fake.revoke(CANARY_TELEGRAM_TOKEN),
    "limited": lambda fake: fake.rate_limit(CANARY_TELEGRAM_TOKEN),
    "broken": lambda fake: fake.break_down(CANARY_TELEGRAM_TOKEN),
    "garbage": lambda fake: fake.garbage(CANARY_TELEGRAM_TOKEN),
    "stalled": lambda fake: fake.stall(CANARY_TELEGRAM_TOKEN),
    "gone": lambda fake: fake.stop(),
}
PROVIDER: dict[str, Callable[[FakeProvider], object]] = {
    "rejecting": lambda fake: fake.reject(CANARY_API_KEY),
    "without credit": lambda fake: fake.no_credit(CANARY_API_KEY),
    "limited": lambda fake: fake.rate_limit(),
    "broken": lambda fake: fake.break_down(),
    "garbage": lambda fake: fake.garbage(),
    "quoting": lambda fake: fake.answer_with(401, {"error": {"message": f"Incorrect API key: {CANARY_API_KEY}"}}),
    "stalled": lambda fake: fake.stall(),
    "gone": lambda fake: fake.stop(),
}


@pytest.fixture
def outside(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeTelegram, FakeProvider]]:
    settings.BERTH_VERIFY_CREDENTIALS = True
    monkeypatch.setattr(verification, "TELEGRAM_LIMIT", 0.2)
    monkeypatch.setattr(verification, "PROVIDER_LIMIT", 0.2)
    with FakeTelegram() as telegram, FakeProvider() as provider:
        settings.BERTH_TELEGRAM_API, settings.BERTH_PROVIDER_API = telegram.url, provider.api_base
        for token in (CANARY_TELEGRAM_TOKEN, CANARY_OTHER_TELEGRAM_TOKEN):
            telegram.add_bot(token, "harbour_bot")
        for key in (CANARY_API_KEY, CANARY_OTHER_API_KEY):
            provider.add_key(key)
        yield telegram, provider


@pytest.mark.sampled(8)
@pytest.mark.parametrize("state", TELEGRAM)
def test_no_answer_of_telegram_leaks_a_credential(
    life: Callable[[], None], engine: MemoryEngine, outside: tuple[FakeTelegram, FakeProvider], state: str
) -> None:
    TELEGRAM[state](outside[0])
    life()
    assert_nothing_leaked(engine)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("state", PROVIDER)
def test_no_answer_of_the_provider_leaks_a_credential(
    life: Callable[[], None], engine: MemoryEngine, outside: tuple[FakeTelegram, FakeProvider], state: str
) -> None:
    PROVIDER[state](outside[1])
    life()
    assert_nothing_leaked(engine)


def test_a_leak_would_be_detected(alice: User, engine: MemoryEngine, life: Callable[[], None]) -> None:
    life()
    User.objects.filter(pk=alice.pk).update(email=f"{CANARY_API_KEY}@example.org")
    assert [text for text in look_everywhere(engine) if find_canary(text)]
    api_of(alice).post("/api/projects", PROJECT | {"name": CANARY_API_KEY})
    assert "The answer to POST /api/projects holds the credential" in str(canaries.leaks)
    canaries.leaks.clear()
    User.objects.filter(pk=alice.pk).update(email=email_of("alice"))
    Project.objects.all().delete()
