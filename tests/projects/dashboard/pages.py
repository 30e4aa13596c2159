"""The paths of the projects' pages, and their contents."""

import re
from typing import Any

from django.test import Client

from projects.models import Project

Fields = dict[str, str]
PATHS = ["", "/control", "/change", "/delete", "/budget", "/people"]


def path_of(project: Project, below: str = "") -> str:
    return f"/projects/{project.pk}{below}"


def text_of(answer: Any) -> str:
    """Returns the text that a reader sees, without the tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def marks_of(page: Any) -> dict[str, str | list[str]]:
    """Returns what a browser with this list sends when it asks what has changed: its marks, in the page's order."""
    found = re.findall(r'<input[^>]*name="(order|counts|seen)" value="(\w+)"', page.content.decode())
    return {name: [value for each, value in found if each == name] for name, _ in found}


def press(dashboard: Client, project: Project, action: str) -> Any:
    return dashboard.post(path_of(project, "/control"), {"action": action})


def sensible_buttons(dashboard: Client, project: Project) -> list[str]:
    return re.findall(
        r'name="action" value="(\w+)"(?: class="primary")?>', dashboard.get(path_of(project)).content.decode()
    )
