"""What owners, staff, watchers and the environment may do to one project, and random histories of it.

A history is a number of turns. In each, a verb is interrupted at one of its engine calls by others, which are carried
out completely, and that call itself may fail.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import count
from typing import Any

from django.conf import settings
from django.db import transaction

from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from projects.errors import ProjectError
from projects.models import Actor, ModelPrice, Plan, Project
from projects.rules.budget import Budget
from projects.services import lift_suspension, suspend_project
from projects.services.limits.budgets import grant_budget, renew_all_entries, renew_budgets_of_plan
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
)
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.killed_operations import OF_GATEWAY, STEPS, KilledError

STAFF = Actor(label="sam@example.com", source="admin")
CALLS = (1, 1, 1, 2, 2, 3, 5)
"""The engine calls at which a verb is interrupted. Many make only one or two."""
Act = Callable[[str, Any, MemoryEngine], object]


def patch(**changes: object) -> Act:
    return lambda key, api, _: api.patch(f"/api/projects/{key}", changes)


def control(action: str) -> Act:
    return lambda key, api, _: api.post(f"/api/projects/{key}/control", {"action": action})


def by_staff(act: Callable[[Project], object]) -> Act:
    def run(key: str, _api: Any, _engine: MemoryEngine) -> None:
        with suppress(ProjectError, EngineError, Project.DoesNotExist):
            act(Project.objects.select_related("owner", "plan").get(pk=key))

    return run


def look(_key: str, _api: Any, _engine: MemoryEngine) -> None:
    with suppress(EngineError):  # the watcher's loop logs it, and continues
        reconcile()
    look_after_gateway()


def change_plan(key: str, _api: Any, _engine: MemoryEngine) -> None:
    plan = Plan.objects.get(slug="pro")
    plan.day_tokens = 1000 if plan.day_tokens is None else None
    plan.save()
    renew_budgets_of_plan(plan)


def change_price(_key: str, _api: Any, _engine: MemoryEngine) -> None:
    ModelPrice.objects.update_or_create(model="gpt", defaults={"input": Decimal(1), "output": Decimal(2)})
    renew_all_entries()


def change_settings(_key: str, _api: Any, _engine: MemoryEngine) -> None:
    """The service restarts with another address of Telegram."""
    settings.BERTH_TELEGRAM_API = OTHER_TELEGRAM if settings.BERTH_TELEGRAM_API != OTHER_TELEGRAM else TELEGRAM


def vanish(key: str, _api: Any, engine: MemoryEngine) -> None:
    """Someone removes the container."""
    for name in [name for name, each in engine.containers.items() if each.key == key]:
        engine.vanish(name)


def lose_counts(key: str, _api: Any, engine: MemoryEngine) -> None:
    engine.gateway_program.use(key, model="gpt", input=3, requests=1)
    engine.gateway_program.lose_counts()


def lose_entries(_key: str, _api: Any, engine: MemoryEngine) -> None:
    """The gateway loses its data and restarts."""
    engine.gateway_program.entries.clear()
    engine.gateway_program.versions.clear()
    engine.gateway_program.lose_counts()
    engine.stop_gateway()


TELEGRAM, OTHER_TELEGRAM = "https://api.telegram.org", "https://telegram.example.com"

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
    "delete": lambda key, api, _: api.delete(f"/api/projects/{key}"),
}
OFTEN = [name for name in ACTS if name != "delete"] * 3 + ["delete"]

MORE_ACTS: dict[str, Act] = {
    "another token": patch(telegramToken=CANARY_OTHER_TELEGRAM_TOKEN),
    "the token": patch(telegramToken=CANARY_TELEGRAM_TOKEN),
    "another plan": change_plan,
    "a price": change_price,
    "other settings": change_settings,
    "the container vanishes": vanish,
    "the gateway stops": lambda key, api, engine: engine.stop_gateway(),
    "the gateway loses its counts": lose_counts,
    "the gateway loses all": lose_entries,
}
WITH_MORE = [*OFTEN, *[name for name in MORE_ACTS for _ in range(2)]]

KILLED = "killed"
FAULTS: dict[str, type[EngineError] | None] = {
    "the engine is silent": EngineUnavailableError,
    "the engine refuses": EngineRefusedError,
    "its answer is lost": None,
}


@contextmanager
def overtaken(number: int, engine: MemoryEngine, act: Callable[[str], object]) -> Iterator[None]:
    """Runs `act` completely inside the engine call with this number, which it gets as an argument."""
    calls = count(1)

    def clear() -> None:
        for step in (*STEPS, *OF_GATEWAY):
            engine.slow(step, None)

    def hook(step: str) -> None:
        if next(calls) == number:
            clear()
            act(step)

    for step in (*STEPS, *OF_GATEWAY):
        engine.slow(step, lambda step=step: hook(step))
    try:
        with suppress(KilledError, EngineError):
            yield
    finally:
        engine.clear_faults()
        transaction.set_rollback(False)


def live(
    chance: random.Random, engine: MemoryEngine, key: str, api: Any, *, turns: int, more: bool = False
) -> list[str]:
    """Runs one history. With `more`, it has more kinds of acts, and faults of the engine. Returns what happened."""
    story: list[str] = []
    often: Sequence[str] = WITH_MORE if more else OFTEN
    known = ACTS | MORE_ACTS

    def act(names: list[str]) -> None:
        for name in names:
            known[name](key, api, engine)

    for _ in range(turns):
        first, others = chance.choice(often), chance.choices(often, k=chance.randint(1, 2))
        befalls, number = KILLED if chance.random() < 0.4 else "", chance.choice(CALLS)
        if more and not befalls and chance.random() < 0.5:
            befalls = chance.choice(list(FAULTS))
        story.append(f"{first}, at call {number} {others}{', ' if befalls else ''}{befalls}")

        def overtake(step: str, others: list[str] = others, befalls: str = befalls) -> None:
            act(others)
            befall(engine, step, befalls)

        with overtaken(number, engine, overtake):
            act([first])
    return story


def befall(engine: MemoryEngine, step: str, what: str) -> None:
    """Decides what happens to this call."""
    if what == KILLED:
        raise KilledError
    if error := FAULTS.get(what):
        raise error("Drawn.")
    if what:
        engine.lose(step)
