"""The admin's actions on projects. An action on one project runs at once; one on many gets a page that runs it.

The page requests each step with a small request. The results are in the database, so that a reload, a second tab or a
later visit shows them and continues with the rest. Without scripts, a button runs as many as there is time for.
"""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from accounts.admin_site.permissions import staff_user
from accounts.dashboard.decorators import counts_as
from accounts.dashboard.session.still_signed_in import is_still_in
from projects.admin.actors import actor_of
from projects.errors import NoPlaceError
from projects.models import Batch, Project
from projects.models.batch import NOT_DONE, OPEN, ItemState
from projects.services.staff import batches
from projects.services.staff.batches import AT_ONCE, MOST

STEP_SECONDS = 1.0
"""Seconds within which a step begins the next project. The last one may take as long as any command."""

BATCH_SECONDS = 20.0
"""The same without scripts. A proxy waits for 60 seconds."""

_LEVELS = {ItemState.DONE: messages.SUCCESS, ItemState.NOTED: messages.WARNING}
_COMMANDS = {"stop": batches.stop, "resume": batches.resume, "again": batches.try_again}


def _is_step(request: HttpRequest) -> bool:
    return bool(request.headers.get("HX-Request")) and not request.POST.get("do")


def _find_scope(request: HttpRequest) -> str:
    """Counts a step as a read, because the command was counted when the batch began, and a stop as nothing."""
    if request.POST.get("do") == "stop":
        return "stopping a batch"
    return "reads" if _is_step(request) else "commands"


class BatchActionsMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    def get_urls(self) -> list[URLPattern]:
        view = counts_as(_find_scope)(require_http_methods(["GET", "HEAD", "POST"])(self.batch_view))
        view = self.admin_site.admin_view(view)
        return [path("batch/<uuid:batch_id>/", view, name="projects_project_batch"), *super().get_urls()]

    def act_on_each(
        self, request: HttpRequest, chosen: QuerySet[Project], action: str, *, because: str = ""
    ) -> HttpResponse | None:
        """Carries out an action of `services.staff.actions`: on one project now, on many by the page of a batch."""
        found = list(chosen.values_list("pk", "name")[: MOST + 1])
        if not found:
            self.message_user(request, "What you selected is gone already.", messages.WARNING)
            return None
        if len(found) == 1:
            [(project_id, name)] = found
            try:
                state, sentence = batches.act_on(project_id, action, actor_of(request), because=because)
            except NoPlaceError as error:
                state, sentence = ItemState.REFUSED, str(error)
            level = _LEVELS.get(state, messages.ERROR)
            self.message_user(request, format_html("{}: {}", name, sentence), level)
            return None
        if len(found) > MOST:
            left = f"These are the first {MOST}. Select the others again when they are done."
            self.message_user(request, left, messages.WARNING)
        batch = batches.begin_batch(by=staff_user(request), action=action, chosen=found[:MOST], because=because)
        return redirect("admin:projects_project_batch", batch.pk)

    def batch_view(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        """Shows the page, and answers its buttons and steps.

        All staff may see and stop a batch. Only the member of staff who started it or took it over may continue it.
        """
        batch = get_object_or_404(Batch.objects.select_related("by"), pk=batch_id)
        batches.end_what_was_lost(batch)
        if request.method != "POST":
            return TemplateResponse(request, "admin/projects/project/batch.html", self._page(request, batch))
        do = request.POST.get("do", "")
        if do == "take":
            batches.take_over(batch, by=staff_user(request))
        elif batch.by_id != staff_user(request).pk and do != "stop":
            # This page belongs to the former owner of a batch that somebody else has taken over.
            return HttpResponseClientRefresh() if request.headers.get("HX-Request") else redirect(request.path)
        elif do in _COMMANDS:
            _COMMANDS[do](batch)
        elif _is_step(request):
            return self._step(request, batch)
        else:
            self._go_on(request, batch, BATCH_SECONDS)
        return redirect(request.path)

    def _step(self, request: HttpRequest, batch: Batch) -> HttpResponse:
        """Runs a step, and returns the items that have ended since the last one, and the next step if there is one."""
        has_begun = self._go_on(request, batch, STEP_SECONDS)
        batch.refresh_from_db()
        described = describe(batch, after=_read_number(request, "seen"))
        lane = min(max(_read_number(request, "lane"), 1), AT_ONCE)
        page = {**described, "lane": lane, "pause": 0 if has_begun else 2, "is_part": True, "is_own": True}
        return TemplateResponse(request, "admin/projects/project/batch_part.html", page)

    def _go_on(self, request: HttpRequest, batch: Batch, seconds: float) -> bool:
        is_let_in = partial(is_still_in, request, staff_user(request))
        return batches.continue_batch(batch, actor_of(request), begin_within=seconds, is_let_in=is_let_in)

    def _page(self, request: HttpRequest, batch: Batch) -> dict[str, Any]:
        described = describe(batch)
        found = self.get_action(batch.action)
        label = found[2] if found else batch.action
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": f"{label} ({described['all']})"}
        is_own = batch.by_id == staff_user(request).pk
        return {**frame, **described, "is_own": is_own, "lanes": range(1, AT_ONCE + 1) if is_own else (), "pause": 0}


def describe(batch: Batch, *, after: int | None = None) -> dict[str, Any]:
    """Describes the progress. `items` are all items, or only those that ended since the count of ends was `after`."""
    items = list(batch.items.all())
    states = [item.state for item in items]
    is_waiting = ItemState.WAITING in states and not batch.is_stopped
    return {
        "batch": batch,
        "items": [item for item in items if after is None or (item.ended_as or 0) > after],
        "all": len(items),
        "ended": sum(state not in OPEN for state in states),
        "not_done": sum(state in NOT_DONE for state in states),
        "left": states.count(ItemState.WAITING),
        "under_way": [item.name for item in items if item.state == ItemState.BEGUN],
        "is_over": not is_waiting and ItemState.BEGUN not in states,
    }


def _read_number(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
