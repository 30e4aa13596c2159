"""A page's scripts keep asking for a project that was deleted meanwhile."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Project

pytestmark = pytest.mark.django_db

ASKED_BY_SCRIPTS = ("project-changes", "steps", "log", "charts")


@pytest.mark.parametrize("name", ASKED_BY_SCRIPTS)
def test_a_script_s_request_for_a_deleted_project_redirects_without_an_error(
    name: str, dashboard: Client, deploy: Callable[..., Project]
) -> None:
    """Browsers log each 404 of a script as an error of the page. A person who opens the address still gets it."""
    project = deploy()
    address = reverse(f"projects:{name}", args=[project.pk])
    Project.objects.all().delete()
    answer = dashboard.get(address, headers={"Sec-Fetch-Dest": "empty", "HX-Request": "true"})
    assert (answer.status_code, answer["HX-Redirect"]) == (204, reverse("projects:list"))
    opened = dashboard.get(address, headers={"Sec-Fetch-Dest": "document", "HX-Request": "true"})
    assert opened.status_code == 404
