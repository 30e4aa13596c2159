"""A watcher that is killed, or a lock, at the moment of a usage or a refusal loses no warning about a budget."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from projects.models import Event, Project
from projects.services.limits import budgets
from projects.watcher.gateway import usage
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.gateway.usage import doubt_sums
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.spending import Clock, shown, subjects

pytestmark = pytest.mark.django_db


class KilledError(BaseException):
    pass


LOCK = OperationalError("canceling statement due to lock timeout")


def fail_with(error: BaseException) -> Callable[..., None]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


def outcomes() -> list[str]:
    return list(Event.objects.filter(action="budget").values_list("outcome", flat=True))


@pytest.mark.parametrize(("tokens", "status", "outcome"), [(850, "running", "warning"), (1000, "degraded", "reached")])
@pytest.mark.parametrize("at", [(usage, "note_spending"), (budgets, "_tell_owner"), (budgets, "settle_budget")])
@pytest.mark.parametrize("error", [KilledError(), LOCK], ids=repr)
def test_the_next_watcher_adds_up_what_the_last_one_has_read(
    error: BaseException, at: tuple[Any, str], tokens: int, status: str, outcome: str, limited: Project, use: Any,
    api: Any, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    use(limited, 100)
    with monkeypatch.context() as patch:
        patch.setattr(*at, fail_with(error))
        with contextlib.suppress(KilledError):
            use(limited, tokens)
    usage._late.clear()  # as in a new process
    doubt_sums()
    look_after_gateway()
    look_after_gateway()
    assert shown(api, limited, time)[0] == status
    assert (outcomes(), len(subjects())) == ([outcome], 1)


@pytest.mark.parametrize("at", ["_write_sums", "_tell_owner", "settle_budget"])
@pytest.mark.parametrize("error", [KilledError(), LOCK], ids=repr)
def test_a_refusal_is_recorded_once_the_database_allows_it(
    error: BaseException, at: str, limited: Project, use: Any, api: Any, time: Clock, gateway: MemoryGateway,
    monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    use(limited, 950)
    gateway.see(str(limited.pk), budget_reached=time.now.timestamp(), budget_period="day")
    with monkeypatch.context() as patch:
        patch.setattr(budgets, at, fail_with(error))
        with contextlib.suppress(KilledError):
            look_after_gateway()
    look_after_gateway()
    assert shown(api, limited, time)[0] == "degraded"
    assert sorted(outcomes()) == ["reached", "warning"]


def test_sums_that_agree_are_left_alone(limited: Project, use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use(limited, 100)
    monkeypatch.setattr(usage, "note_spending", fail_with(AssertionError("It was added up.")))
    doubt_sums()
    assert usage._find_behind() == set()
    look_after_gateway()
