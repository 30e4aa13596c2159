"""A request that failed or was interrupted frees its Idempotency-Key."""

from collections.abc import Callable
from typing import Any

import pytest

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import IdempotencyRecord, Plan
from tests.fakes.engine import MemoryEngine


@pytest.mark.parametrize(
    ("verb", "error", "status"),
    [
        ("image_exists", EngineUnavailableError, 503),
        ("deploy.create", EngineUnavailableError, 503),
        ("deploy.create", EngineRefusedError, 502),
        ("deploy.start", EngineRefusedError, 502),
    ],
)
def test_a_first_request_that_failed_frees_the_key(
    create: Callable[..., Any], engine: MemoryEngine, verb: str, error: Any, status: int
) -> None:
    engine.fail(verb, error)
    assert create().status_code == status
    assert not IdempotencyRecord.objects.exists()
    assert create().status_code == 201
    assert len(engine.containers) == 1


def test_a_first_request_over_the_limit_frees_the_key(create: Callable[..., Any]) -> None:
    assert create(key="first", telegramToken="5:first").status_code == 201
    Plan.objects.filter(slug="pro").update(max_projects=1)
    assert create().json()["code"] == "plan_limit_reached"
    Plan.objects.filter(slug="pro").update(max_projects=2)
    assert create().status_code == 201


def test_a_bot_in_use_frees_the_key(create: Callable[..., Any]) -> None:
    create()
    assert create(key="another").status_code == 409
    assert create(key="another", telegramToken="5:free").status_code == 201


def test_a_key_may_be_used_again_with_another_body_once_it_is_free(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    engine.fail("deploy.start", EngineRefusedError)
    assert create().status_code == 502
    assert create(name="Another body").status_code == 201


def test_a_request_that_is_cut_off_frees_its_key(create: Callable[..., Any], engine: MemoryEngine) -> None:
    def stop_the_worker() -> None:
        raise SystemExit(1)

    engine.slow("image_exists", stop_the_worker)
    with pytest.raises(SystemExit):
        create()
    engine.slow("image_exists", None)
    assert create().status_code == 201
