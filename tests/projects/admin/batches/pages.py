"""Helpers for selecting projects in the admin, and for the page that runs a batch."""

import re
from typing import Any

from django.test import Client

from projects.models import BatchItem, Project

LIST = "/admin/projects/project/"


def choose(admin: Client, action: str, projects: list[Project], **form: Any) -> Any:
    keys = [str(project.pk) for project in projects]
    return admin.post(LIST, {"action": action, "_selected_action": keys, **form})


def begin(admin: Client, action: str, projects: list[Project], **form: Any) -> str:
    """Returns the address of the page."""
    address: str = choose(admin, action, projects, **form).headers["Location"]
    assert address.startswith(f"{LIST}batch/")
    return address


def step(admin: Client, page: str, seen: int = 0) -> Any:
    return admin.post(page, {"lane": "1", "seen": str(seen)}, headers={"HX-Request": "true"})


def text_of(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def states() -> list[str]:
    return list(BatchItem.objects.values_list("state", flat=True))
