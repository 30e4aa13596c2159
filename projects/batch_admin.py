"""Actions of the admin on many projects, one after the other."""

import time
from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from accounts.admin_permissions import staff_user
from accounts.http import client_address
from containers.errors import EngineError
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import ProjectError
from projects.models import Actor, Project
from projects.models.event import BY_STAFF

BATCH_SECONDS = 30.0
"""How long an action goes on to a next project. The last one may take 26 seconds more, and a proxy waits for 60."""

BATCH_SIZE = 100
"""How many projects an action reaches at most, however fast it is: as many as a page lists."""

NAMES_SHOWN = 50


def actor_of(request: HttpRequest) -> Actor:
    return Actor(label=staff_user(request).email, source=BY_STAFF, address=client_address(request))


class ActsOnEach(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    def _each(self, request: HttpRequest, chosen: QuerySet[Project], act: Callable[[Project], object]) -> None:
        """Acts on one project after the other while there is time. Messages say what was refused and what is left."""
        projects = list(chosen)
        until = time.monotonic() + BATCH_SECONDS
        reached = done = 0
        for project in projects[:BATCH_SIZE]:
            if time.monotonic() >= until:
                break
            reached += 1
            try:
                act(project)
                done += 1
            except (ProjectError, EngineError, SecretUnreadableError) as error:
                self.message_user(request, format_html("{}: {}", project.name, error), messages.ERROR)
        if done:
            self.message_user(request, f"Done: {done} of {len(projects)}.", messages.SUCCESS)
        if reached < len(projects):
            self.message_user(request, _describe_unreached(projects, reached), messages.WARNING)


def _describe_unreached(projects: list[Project], reached: int) -> str:
    unreached = projects[reached:]
    names = ", ".join(project.name for project in unreached[:NAMES_SHOWN])
    more = f" and {len(unreached) - NAMES_SHOWN} more" if len(unreached) > NAMES_SHOWN else ""
    return f"Not reached: {len(unreached)} of {len(projects)}. Select them again: {names}{more}."
