"""Which runs are kept, for whom, and until when."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Project, Run
from projects.services.reports.runs import keep_run
from tests.fakes.engine import MemoryEngine
from tests.projects.api.commands import Control


def test_kept_runs_are_deleted_with_the_project(api: APIClient, project: Project, control: Control, log: Any) -> None:
    log("one")
    control("restart")
    assert Run.objects.count() == 1
    assert api.delete(f"/api/projects/{project.id}").status_code == 204
    assert not Run.objects.exists()


@pytest.mark.parametrize("query", ["run=0", "run=-1", "run=x", "run=", "run=1.5", "run=99999999999", "run=\u0663"])
def test_a_bad_number_is_a_400_that_names_it(query: str, api: APIClient, project: Project) -> None:
    answer = api.get(f"/api/projects/{project.id}/logs?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "run")


def test_a_missing_run_is_a_404_that_lists_the_kept_ones(api: APIClient, project: Project, control: Control) -> None:
    control("restart")
    answer = api.get(f"/api/projects/{project.id}/logs?run=7")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "Runs 1 to 1 are kept" in answer.json()["detail"]


def test_a_stranger_sees_no_run(bobs_api: APIClient, project: Project, control: Control) -> None:
    control("restart")
    for path in ("runs", "logs?run=1"):
        assert bobs_api.get(f"/api/projects/{project.id}/{path}").status_code == 404


def test_two_processes_that_keep_the_same_run_create_one_row(project: Project, engine: MemoryEngine, log: Any) -> None:
    log("one")
    ended = engine.inspect(project.container_key)
    assert ended
    keep_run(project, ended)
    keep_run(project, ended)
    assert [run.number for run in project.runs.all()] == [1]
