"""A gateway that does not answer after its start: only one request waits, and others are answered at once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts import clock
from containers.errors import GatewayMissingError, GatewaySilentError
from projects.models import Gateway, Project
from projects.services.gateway.provisioning import (
    FORMER_GOES_ON,
    SILENT_FOR,
    describe_trouble,
    find_gateway,
    is_in_trouble,
)
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
TRIES = ("ensure_gateway", "")


@pytest.fixture
def silent(engine: MemoryEngine, api: Any, body: dict[str, Any]) -> None:
    """Another process has just noticed it."""
    engine.fail("ensure_gateway", GatewaySilentError("It does not answer."))
    assert_problem(api.post("/api/projects", body), 503, "engine_unavailable")
    engine.calls.clear()


def test_requests_after_the_first_timeout_are_answered_at_once(
    silent: None, engine: MemoryEngine, api: Any, body: dict[str, Any]
) -> None:
    for _ in range(3):
        answer = api.post("/api/projects", body)
        assert_problem(answer, 503, "engine_unavailable")
        assert "the gateway does not run" in answer.json()["detail"]
    assert TRIES not in engine.calls
    assert not Project.objects.exists()


def test_a_deploy_works_as_soon_as_the_watcher_has_found_the_gateway(
    silent: None, engine: MemoryEngine, api: Any, body: dict[str, Any]
) -> None:
    engine.fail("ensure_gateway", GatewaySilentError("It does not answer."))
    look_after_gateway()
    assert "does not answer" in describe_trouble()
    assert_problem(api.post("/api/projects", body), 503, "engine_unavailable")
    look_after_gateway()
    assert describe_trouble() == ""
    assert api.post("/api/projects", body).status_code == 201
    assert Gateway.objects.get().silent_at is None


def test_without_a_watcher_one_request_probes_the_gateway_and_others_do_not_wait(
    silent: None, engine: MemoryEngine
) -> None:
    Gateway.objects.update(silent_at=clock.now() - SILENT_FOR - timedelta(seconds=1))
    refused = []

    def meanwhile() -> None:
        engine.slow("ensure_gateway", None)
        with pytest.raises(GatewayMissingError):
            find_gateway()
        refused.append(True)

    engine.slow("ensure_gateway", meanwhile)
    assert find_gateway().address.host
    assert refused == [True]
    assert engine.calls.count(TRIES) == 1


def test_running_agents_are_not_affected(engine: MemoryEngine, project: Project, control: Callable[..., Any]) -> None:
    """A gateway that was found a moment ago counts, no matter what another process has noted."""
    Gateway.objects.update(silent_at=clock.now(), found_at=clock.now())
    assert control(project, "restart").status_code == 200


def test_staff_see_that_the_previous_gateway_continues(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    look_after_gateway()
    ensure = engine.ensure_gateway
    monkeypatch.setattr(engine, "ensure_gateway", lambda spec: replace(ensure(spec), warning="The one before goes on."))
    look_after_gateway()
    assert describe_trouble() == f"{FORMER_GOES_ON} The one before goes on."
    assert not is_in_trouble(), "Agents reach everybody."
    assert find_gateway().address.host
    monkeypatch.undo()
    look_after_gateway()
    assert describe_trouble() == ""
