"""Agents' memories come back on a real engine: for one whose container still runs, and for one that has none."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings
from rest_framework.test import APIClient

from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.stub import STUB_PROJECT
from tests.containers.inside import run_inside
from tests.deploying import create_project
from tests.ports import reserve_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.django_db(transaction=True), pytest.mark.one_database]


@pytest.mark.rare(3)
def test_memory_is_restored_with_and_without_running_containers(
    real_engine: Callable[[str], None],
    docker_instance: DockerInstance,
    api: APIClient,
    settings: Settings,
    tmp_path: Path,
) -> None:
    real_engine("")
    settings.BERTH_DATA_DIR, settings.BERTH_PORT = tmp_path, reserve_port()
    running, gone = (create_project(api, STUB_PROJECT | {"name": name}) for name in ("Running", "Gone"))

    def type_in(project: Project, script: str) -> str:
        return run_inside(docker_instance.client, docker_instance.name_of(str(project.pk)), "sh", "-c", script)[1]

    for each in (running, gone):
        type_in(each, f"echo {each.name} > /data/note")
    archive, said = tmp_path / "berth.tar", StringIO()
    call_command("backup", str(archive), "--with-memory", stdout=said)
    type_in(running, "echo overwritten > /data/note; echo newer > /data/later")
    name = docker_instance.name_of(str(gone.pk))
    docker_instance.client.remove_container(name, force=True, v=True)
    for volume in [each for each in docker_instance.volumes() if str(gone.pk) in each]:
        docker_instance.client.remove_volume(volume)
    call_command("restore", str(archive), "--with-memory", "--replace", stdout=said)
    assert "(2 of 2)" in said.getvalue()
    for _ in range(2):
        reconcile()
    assert docker_instance.states() == {str(running.pk): "running", str(gone.pk): "running"}
    assert [type_in(each, "cat /data/*").strip() for each in (running, gone)] == ["Running", "Gone"]

    def all_run() -> bool:
        reconcile()
        return {each.status for each in Project.objects.all()} == {"running"}

    wait_until(all_run)
