"""Each verb at the same time as each other one on the same project, from separate connections, with a slow engine.

Afterwards row, engine, gateway and events agree, no operation is in flight, and each caller got a truthful answer.
"""

import random
import threading
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import pytest
from django.db import connections

from accounts.models import User
from projects.models import Event, Project
from projects.rules.status.lifecycle import Desired
from tests.canaries import CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN
from tests.clients import api_of
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.acts import ACTS, MORE_ACTS, Act, patch
from tests.projects.gateway.test_kills import assert_true, begin, converge
from tests.projects.gateway.test_simultaneous import assert_entry_true
from tests.projects.watcher.killed_operations import OF_GATEWAY, STEPS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]

SLOWEST = 0.02
"""Seconds that a call to the engine may take."""

GUARD = 120.0

VERBS: dict[str, Act] = {
    **{name: act for name, act in ACTS.items() if name != "the key"},
    "another token": MORE_ACTS["another token"],
    "another plan": patch(plan="starter"),
    "update": lambda key, api, _: api.post(f"/api/projects/{key}/update"),
    "clear": lambda key, api, _: api.delete(f"/api/projects/{key}/memory"),
    "pair": lambda key, api, _: api.post(f"/api/projects/{key}/pairing"),
}
OF_EVENT = {"start": "start", "stop": "stop", "restart": "restart", "delete": "delete", "clear": "clear memory"}
"""The events that tell of verbs, whatever came of them."""

BEFORE = {"running": [], "stopped": ["stop"], "suspended": ["suspend"]}
STARTS = {"start", "restart"}


def at_once(chance: random.Random, engine: MemoryEngine, key: str, alice: User, verbs: tuple[str, str]) -> list[Any]:
    """Returns the answers; None of a verb that is no request."""
    together = threading.Barrier(len(verbs))
    answers: list[Any] = [None, None]
    delays = [random.Random(chance.random()) for _ in range(100)]

    def wait() -> None:
        threading.Event().wait(delays[threading.get_ident() % len(delays)].random() * SLOWEST)

    def run(number: int) -> None:
        api = api_of(alice)
        together.wait(GUARD)
        try:
            answers[number] = VERBS[verbs[number]](key, api, engine)
        finally:
            connections.close_all()

    for step in (*STEPS, *OF_GATEWAY):
        engine.slow(step, wait)
    threads = [threading.Thread(target=run, args=[number]) for number in range(len(verbs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD)
    engine.clear_faults()
    return answers


@pytest.mark.sampled(24)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("verbs", list(combinations_with_replacement(VERBS, 2)), ids=" and ".join)
def test_after_any_two_verbs_at_once_all_agree(
    verbs: tuple[str, str], before: str, engine: MemoryEngine, deploy: Callable[..., Project], alice: User
) -> None:
    chance = random.Random(f"{verbs} {before}")
    key = str(begin(engine, deploy).pk)
    for verb in BEFORE[before]:
        VERBS[verb](key, api_of(alice), engine)
    first = Event.objects.order_by("pk").last()
    answers = at_once(chance, engine, key, alice, verbs)
    told = [(verb, getattr(answer, "status_code", None)) for verb, answer in zip(verbs, answers, strict=True)]
    try:
        assert_answers_true(key, told, before, since=first.pk if first else 0)
        converge()
        assert_true(engine, key)
        assert_entry_true(engine, key)
    except AssertionError as error:
        events = Event.objects.filter(pk__gt=first.pk if first else 0).order_by("pk")
        happened = [(each.action, each.outcome, each.detail, each.actor) for each in events]
        bodies = [getattr(answer, "content", b"")[:300] for answer in answers]
        raise AssertionError(f"{told} after {before}: {happened} {bodies}") from error


def assert_answers_true(key: str, told: list[tuple[str, int | None]], before: str, *, since: int) -> None:
    row = Project.objects.filter(pk=key).first()
    assert row is None or row.operation == "", "An operation is in flight, and nobody carries it out."
    assert {status for _, status in told} <= {None, 200, 201, 202, 204, 404, 409}
    events = list(Event.objects.filter(pk__gt=since, project_id=key).order_by("pk"))
    for verb, status in told:
        action = OF_EVENT.get(verb)
        if action and status != 404:
            same = [event.outcome for event in events if event.action == action and event.actor != "system"]
            assert ("failed" in same) if status == 409 else any(outcome != "failed" for outcome in same), (verb, same)
    names = {verb for verb, _ in told}
    done = {verb for verb, status in told if status in {200, 202, 204}} | ({"suspend"} & names)
    if "delete" in done:
        assert row is None or row.desired == Desired.DELETED
        return
    assert row is not None
    for verb, others, is_true in OUTCOMES:
        assert verb not in done or others & names or is_true(row), verb
    assert before != "suspended" or "lift" in names or not done & STARTS


OUTCOMES: list[tuple[str, set[str], Callable[[Project], bool]]] = [
    ("stop", {"start", "restart"}, lambda row: row.desired == Desired.STOPPED),
    ("start", {"stop"}, lambda row: row.desired == Desired.RUNNING),
    ("restart", {"stop"}, lambda row: row.desired == Desired.RUNNING),
    ("another key", set(), lambda row: row.decrypt_credential("api_key") == CANARY_OTHER_API_KEY),
    ("another token", set(), lambda row: row.decrypt_credential("telegram_token") == CANARY_OTHER_TELEGRAM_TOKEN),
    ("another name", set(), lambda row: row.name == "Another"),
    ("another plan", set(), lambda row: row.plan.slug == "starter"),
    ("a budget", set(), lambda row: row.own_day_tokens == 5),
    ("suspend", {"lift"}, lambda row: row.suspended_at is not None),
]
"""What is true after a verb that was carried out, unless one of these others was too."""
