"""Reads and writes the row of a project directly."""

from projects.models import Project


def status_of(project: Project) -> str:
    return Project.objects.select_related("owner").get(pk=project.pk).status


def later(project: Project, **fields: object) -> None:
    Project.objects.filter(pk=project.pk).update(**fields)
