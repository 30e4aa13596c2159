"""The page of a project: the logs of its earlier runs."""

from typing import Any

import pytest
from django.test import Client

from projects.models import Project
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import Action
from projects.services import control_project
from tests.fakes.engine import MemoryEngine


@pytest.fixture
def show(dashboard: Client, project: Project) -> Any:
    def get(query: str = "", status: int = 200) -> str:
        answer = dashboard.get(f"/projects/{project.pk}{query}")
        assert answer.status_code == status
        return answer.content.decode()

    return get


@pytest.fixture
def three_runs(project: Project, engine: MemoryEngine) -> None:
    for number in (1, 2, 3):
        engine.log(project.container_name, f"printed in run {number}")
        if number < 3:
            engine.crash(project.container_name, exit_code=number)
            control_project(project=project, action=Action.START, actor=SYSTEM)


def test_a_project_with_one_run_does_not_mention_runs(show: Any) -> None:
    assert "Run 1 of" not in show()


@pytest.mark.usefixtures("three_runs")
def test_the_page_shows_the_current_run_and_links_to_earlier_ones(show: Any) -> None:
    text = show()
    assert "Run 3 of 3" in text
    assert "printed in run 3" in text
    assert "?run=2#log-title" in text
    assert "Later run" not in text


@pytest.mark.usefixtures("three_runs")
def test_an_earlier_run_shows_its_log_and_how_it_ended(show: Any, project: Project) -> None:
    text = show("?run=1")
    assert "Run 1 of 3: ended with exit code 1" in text
    assert "printed in run 1" in text
    assert "printed in run 3" not in text
    assert "?run=2#log-title" in text
    assert "Earlier run" not in text
    assert f'data-address="/projects/{project.pk}/changes?&amp;run=1"' in text
    assert "Current run" in show("?run=2")


@pytest.mark.usefixtures("three_runs")
@pytest.mark.parametrize(("query", "status"), [("?run=3", 200), ("?run=9", 404), ("?run=x", 200), ("?run=", 200)])
def test_an_unknown_run_number_is_refused(query: str, status: int, show: Any) -> None:
    assert ("printed in run 3" in show(query, status)) == (status == 200)
