"""When a run is taken as proof that the agent works with its credentials: see `ContainerSpec.well_since`."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from containers.agent_contract import AgentState
from projects.models import Project
from projects.services.container_spec import build_spec

pytestmark = pytest.mark.django_db

STATES = ["", *map(str, AgentState)]


@pytest.mark.parametrize("state", STATES)
def test_only_an_agent_that_reported_its_work_or_its_orderly_end_has_worked(
    state: str, deploy: Callable[..., Project]
) -> None:
    project = deploy()
    project.agent_state, project.started_at = state, timezone.now()
    has_worked = state in {AgentState.RUNNING, AgentState.STOPPED}
    assert build_spec(project).well_since == (project.started_at if has_worked else None)


def test_an_agent_that_never_ran_has_not_worked(deploy: Callable[..., Project]) -> None:
    project = deploy()
    project.agent_state, project.started_at = "running", None
    assert build_spec(project).well_since is None
