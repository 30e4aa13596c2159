"""A changed `BERTH_INSTANCE` is refused before any command looks for containers under another name."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError
from pytest_django import Settings

from config.management.command_line import CommandLine
from config.management.start_checks import require_own_instance, require_that_it_may_serve
from projects.models import AgentType, Plan, Project
from tests.factories import UserFactory
from tests.ports import reserve_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

UNCHECKED = {
    "build_images": "it starts no agent",
    "firewall": "its rules are those of a network that has no agents",
    "migrate": "it does not use the engine",
    "node": "it prints a script",
    "push_images": "it starts no agent",
    "restore": "it replaces the projects, and asks for the instance of the archive",
    "swarm": "it says what the Swarm has",
    "version": "it prints the version",
}
"""Commands of ours that run all the same, and why."""

OURS = sorted(
    name
    for name, app in get_commands().items()
    if str(app).partition(".")[0] in {"accounts", "config", "containers", "projects"}
)
NEEDED = {"migrate_engine": ["--from", "unix:///nowhere"], "test_type": ["any"]}


def project_of(instance: str) -> Project:
    return Project.objects.create(
        owner=UserFactory.create(),
        instance=instance,
        name="Pilot",
        bot_id=len(instance),
        desired="stopped",
        plan=Plan.objects.earliest("pk"),
        agent_type=AgentType.objects.earliest("pk"),
    )


@pytest.fixture(autouse=True)
def moved(settings: Settings) -> Iterator[Project]:
    """A project of the usual instance, while the settings name another one."""
    settings.BERTH_PORT = reserve_port()
    project = project_of("former")
    yield project
    project.delete()


def run(name: str, *arguments: str) -> None:
    call_command(CommandLine(["manage.py", name]).fetch_command(name), *arguments)


@pytest.mark.parametrize("name", [name for name in OURS if name not in UNCHECKED])
def test_each_command_refuses_another_instance_in_one_sentence(name: str) -> None:
    with pytest.raises(CommandError) as refused:
        run(name, *NEEDED.get(name, []))
    assert str(refused.value) == (
        "The projects of this database are of the instance former, and this is berth: their agents would run twice. "
        "Nothing was changed. Set BERTH_INSTANCE=former."
    )


def test_nothing_is_built_for_a_start_that_would_be_refused() -> None:
    with pytest.raises(CommandError, match="BERTH_INSTANCE=former"):
        require_that_it_may_serve()


def test_projects_of_this_instance_may_be_served_beside_others() -> None:
    """An older version may have served both, and each instance must be able to start to delete its projects."""
    own = project_of("berth")
    require_own_instance()
    own.delete()
    with pytest.raises(CommandError):
        require_own_instance()


def test_projects_that_are_being_deleted_do_not_count(moved: Project) -> None:
    moved.desired = "deleted"
    moved.save(update_fields=["desired"])
    require_own_instance()
