"""The page of a project: its contents."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from projects.models import Project
from projects.rules.status.lifecycle import Desired, Operation
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_TELEGRAM_TOKEN,
)
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import press


def test_the_page_shows_every_field(page: Callable[[], str], project: Project) -> None:
    text = page()
    for shown in (
        "Running",
        "Reload it to see the current state.",  # for users without scripts
        "The agent is ready.",
        "Assistant",
        "pro: 1024 MB, 1 CPU",
        f"…{CANARY_TELEGRAM_TOKEN[-4:]}",
        f"…{CANARY_API_KEY[-4:]}",
        "Restarts since 0",
        f"{project.created_at:%H:%M} UTC",
        str(project.pk),
    ):
        assert shown in text


@pytest.mark.parametrize(
    ("exit_code", "sentence"),
    [
        (20, "Telegram refused the bot token. Paste a new one from @BotFather, then start."),
        (31, "The provider account has no credit left."),
        (1, "The agent crashed (exit code 1)."),
    ],
)
def test_a_crash_is_explained_in_plain_words_with_the_end_of_the_log(
    page: Callable[[], str], project: Project, engine: MemoryEngine, exit_code: int, sentence: str
) -> None:
    for number in range(25):
        engine.log(project.container_name, f"line-{number:02}")
    engine.crash(project.container_name, exit_code=exit_code)
    Project.objects.update(observed_at=None)
    text = page()
    assert "Crashed" in text
    assert sentence in text
    assert [text.count(f"line-{number:02}") for number in (0, 5, 24)] == [1, 1, 1]
    assert "The last lines before it ended" not in text


def test_the_log_is_its_last_two_hundred_lines_without_credentials(
    page: Callable[[], str], project: Project, engine: MemoryEngine
) -> None:
    for number in range(250):
        engine.log(project.container_name, f"line-{number:03} {CANARY_API_KEY}")
    text = page()
    assert "line-049" not in text
    assert "line-050 [redacted]" in text
    assert "line-249 [redacted]" in text


def test_with_a_silent_engine_a_sentence_replaces_the_log(
    page: Callable[[], str], project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    engine.unavailable = True
    text = page()
    assert "Unknown" in text
    assert "Nothing newer is known until it does." in text
    assert "Last known: Running" in text
    assert text.count("The container engine does not answer.") == 1


def test_credentials_that_cannot_be_read_are_a_sentence_too(page: Callable[[], str], project: Project) -> None:
    Project.objects.update(api_key_ciphertext=project.telegram_token_ciphertext)
    assert "The stored credentials cannot be read" in page()


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"suspended_at": timedelta(0)}, "The staff suspended this project."),
        ({"desired": Desired.DELETED}, "are being removed"),
        (
            {
                "operation": Operation.STOP,
                "operation_id": uuid.uuid4(),
                "operation_deadline": timedelta(seconds=30),
            },
            "The agent is being stopped.",
        ),
    ],
)
def test_states_that_need_it_are_explained(
    page: Callable[[], str], project: Project, engine: MemoryEngine, state: dict[str, Any], shown: str
) -> None:
    engine.exit(project.container_name)
    now = timezone.now()  # not the time at which the tests were collected, which may be long ago
    moments = {name: now + value for name, value in state.items() if isinstance(value, timedelta)}
    Project.objects.update(**state | moments, observed_at=None)
    assert shown in page()


def test_events_show_who_did_what_from_which_address(
    dashboard: Client, page: Callable[[], str], project: Project
) -> None:
    press(dashboard, project, "stop")
    text = page()
    assert "just now Stopped alice@example.com dashboard, 127.0.0.1" in text
    assert "just now Deployed alice@example.com session, 127.0.0.1" in text
