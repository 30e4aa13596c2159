"""Several simultaneous actions on one project, while the process of one of them is killed.

Each history follows from its number: verbs, each of which is interrupted by others at one of its engine calls, and some
of which are killed there. Afterwards the agent is in its desired state, and its credentials are valid exactly if it
should run. `--whole` has 25 times as many histories.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Project
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.rules.status.lifecycle import Desired
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.acts import ACTS, live
from tests.projects.gateway.test_kills import assert_true, begin, converge
from tests.projects.telling import FIRST, LAST, tell_in_the_same_thread

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

TURNS = 4
"""Verbs of a history, one after another."""


@pytest.mark.sampled(25)
@pytest.mark.parametrize("number", range(200))
def test_after_any_simultaneous_commands_the_gateway_agrees_with_the_row(
    number: int, engine: MemoryEngine, deploy: Callable[..., Project], api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(number)
    tell_in_the_same_thread(monkeypatch, chance.choice([FIRST, LAST]))
    key = str(begin(engine, deploy).pk)
    story = live(chance, engine, key, api, turns=TURNS)
    converge()
    try:
        assert_true(engine, key)
        assert_entry_true(engine, key)
    except AssertionError as error:
        raise AssertionError("\n".join(story)) from error


@pytest.mark.sampled(25)
@pytest.mark.parametrize("number", range(200))
def test_the_next_restart_repairs_any_failure(
    number: int,
    engine: MemoryEngine,
    deploy: Callable[..., Project],
    api: Any,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    """The owner repeats what the engine has refused, after staff have lifted a suspension."""
    settings.BERTH_TELEGRAM_API = settings.BERTH_TELEGRAM_API  # put back at the end
    chance = random.Random(number)
    tell_in_the_same_thread(monkeypatch, chance.choice([FIRST, LAST]))
    key = str(begin(engine, deploy).pk)
    story = live(chance, engine, key, api, turns=chance.randint(2, 7), more=True)
    try:
        forget_troubles()
        converge()
        if failed := Project.objects.filter(pk=key).exclude(failure_code="").first():
            if failed.is_suspended:
                ACTS["lift"](key, api, engine)
            ACTS["restart"](key, api, engine)
            forget_troubles()
            converge()
        assert_true(engine, key)
        assert_entry_true(engine, key)
        start_what_is_stopped(engine, key, api)
    except AssertionError as error:
        raise AssertionError("\n".join(story)) from error


def forget_troubles() -> None:
    """Ends the pauses that the watcher makes after failures."""
    Project.objects.update(**NO_TROUBLE)


def assert_entry_true(engine: MemoryEngine, key: str) -> None:
    row = Project.objects.filter(pk=key).first()
    if row and (entry := engine.gateway_program.entries.get(key)):
        assert entry["provider"]["key"] == row.decrypt_credential("api_key")
        assert entry["telegram"]["token"] == row.decrypt_credential("telegram_token")
        assert entry["budget"].get("day_tokens") == row.budget.day_tokens


def start_what_is_stopped(engine: MemoryEngine, key: str, api: Any) -> None:
    """The gateway knows it at once, without the watcher."""
    rows = Project.objects.filter(pk=key, desired=Desired.STOPPED, suspended_at=None)
    if rows.exists():
        assert api.post(f"/api/projects/{key}/control", {"action": "start"}).status_code == 200
        assert_true(engine, key)
        assert_entry_true(engine, key)
