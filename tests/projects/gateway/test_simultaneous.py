"""Several who do something to one project at once, while the process of one of them is killed.

Each history is drawn from its number: verbs, each of which is overtaken by others at one of its calls of the engine,
and some of which are killed there. Afterwards the agent is as its owner wants it, and its credentials count while it is
to run and not when it is not. `--whole` has 25 times as many histories.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest
from django.db import transaction

from containers.errors import EngineError
from projects.errors import ProjectError
from projects.models import Actor, Project
from projects.rules.budget import Budget
from projects.services import lift_suspension, suspend_project
from projects.services.limits.budgets import grant_budget
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of
from tests.projects.gateway.test_kills import assert_true, begin, converge
from tests.projects.telling import FIRST, LAST, tell_in_the_same_thread
from tests.projects.watcher.killed_operations import OF_GATEWAY, STEPS, KilledError

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

STAFF = Actor(label="sam@example.com", source="admin")
TURNS = 4
"""Verbs of a history one after another."""
CALLS = (1, 1, 1, 2, 2, 3, 5)
"""At which of its calls of the engine a verb is overtaken. Many make no more than one or two."""
Act = Callable[[str, Any], object]


def patch(**changes: object) -> Act:
    return lambda key, api: api.patch(f"/api/projects/{key}", changes)


def control(action: str) -> Act:
    return lambda key, api: api.post(f"/api/projects/{key}/control", {"action": action})


def by_staff(act: Callable[[Project], object]) -> Act:
    def run(key: str, _api: Any) -> None:
        with suppress(ProjectError, EngineError, Project.DoesNotExist):
            act(Project.objects.select_related("owner", "plan").get(pk=key))

    return run


def look(_key: str, _api: Any) -> None:
    reconcile()
    look_after_gateway()


ACTS: dict[str, Act] = {
    "another key": patch(apiKey=CANARY_OTHER_API_KEY),
    "the key": patch(apiKey=CANARY_API_KEY),
    "another name": patch(name="Another"),
    "a budget": patch(budget={"day_tokens": 5}),
    "start": control("start"),
    "stop": control("stop"),
    "restart": control("restart"),
    "suspend": by_staff(lambda project: suspend_project(project=project, actor=STAFF)),
    "lift": by_staff(lambda project: lift_suspension(project=project, actor=STAFF)),
    "grant": by_staff(lambda project: grant_budget(project=project, granted=Budget(day_tokens=7), actor=STAFF)),
    "look": look,
    "delete": lambda key, api: api.delete(f"/api/projects/{key}"),
}
OFTEN = [name for name in ACTS if name != "delete"] * 3 + ["delete"]


@contextmanager
def overtaken(number: int, engine: MemoryEngine, act: Callable[[], object]) -> Iterator[None]:
    """`act` is carried out as a whole inside the call of the engine of this number."""
    calls = count(1)

    def clear() -> None:
        for step in (*STEPS, *OF_GATEWAY):
            engine.slow(step, None)

    def hook() -> None:
        if next(calls) == number:
            clear()
            act()

    for step in (*STEPS, *OF_GATEWAY):
        engine.slow(step, hook)
    try:
        with suppress(KilledError):
            yield
    finally:
        clear()
        transaction.set_rollback(False)


def live(chance: random.Random, engine: MemoryEngine, key: str, api: Any) -> list[str]:
    """One history. Returns what happened."""
    story: list[str] = []

    def act(names: list[str]) -> None:
        for name in names:
            ACTS[name](key, api)

    for _ in range(TURNS):
        first, others = chance.choice(OFTEN), chance.choices(OFTEN, k=chance.randint(1, 2))
        is_killed, number = chance.random() < 0.4, chance.choice(CALLS)
        story.append(f"{first}, at call {number} {others}{', killed' if is_killed else ''}")

        def overtake(others: list[str] = others, *, is_killed: bool = is_killed) -> None:
            act(others)
            if is_killed:
                raise KilledError

        with overtaken(number, engine, overtake):
            act([first])
    return story


FALSE = 123
"""A history after which the gateway does not know an agent that is to run: a fault of ours that is yet to be mended."""
NUMBERS = [pytest.param(each, marks=[pytest.mark.xfail] if each == FALSE else []) for each in range(200)]


@pytest.mark.sampled(25)
@pytest.mark.parametrize("number", NUMBERS)
def test_whoever_does_what_at_once_the_agent_is_as_its_row_says(
    number: int, engine: MemoryEngine, deploy: Callable[..., Project], api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(number)
    tell_in_the_same_thread(monkeypatch, chance.choice([FIRST, LAST]))
    key = str(begin(engine, deploy).pk)
    story = live(chance, engine, key, api)
    converge()
    try:
        assert_true(engine, key)
        if (row := Project.objects.filter(pk=key).first()) and (entry := entry_of(engine, row)):
            assert entry["provider"]["key"] == row.decrypt_credential("api_key")
            assert entry["budget"].get("day_tokens") == row.budget.day_tokens
    except AssertionError as error:
        raise AssertionError("\n".join(story)) from error
