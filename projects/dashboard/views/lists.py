"""The list of projects, its changes, and commands on many projects."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.http import SignedInRequest
from projects.dashboard.content import bulk
from projects.dashboard.content.bulk import Batch
from projects.dashboard.content.list_cache import ListPoll
from projects.dashboard.content.list_query import ListQuery, Order
from projects.dashboard.content.project_list import ProjectList, read_list
from projects.dashboard.content.sparklines import add_curves
from projects.dashboard.forms.bulk import BulkForm, ConfirmDeletionForm
from projects.dashboard.own_projects import own_projects

MOST_SEEN = 100
"""The maximum number of row marks that are read. A page has fewer."""


def _read(request: SignedInRequest) -> ProjectList:
    return read_list(own_projects(request), ListQuery.read(request.GET))


def _describe(shown: ProjectList) -> dict[str, Any]:
    return {"list": shown, "rows": add_curves(shown.rows)}


@login_required
@require_safe
def list_projects(request: SignedInRequest) -> HttpResponse:
    """Renders the page, or only its list if that replaces the list on an open page."""
    # htmx asks for the whole page if the user goes back to it.
    is_part = bool(request.htmx) and not request.htmx.history_restore_request
    page = _describe(_read(request)) | {"orders": Order, "renews_call": is_part}
    return render(request, "projects/list_part.html" if is_part else "projects/list.html", page)


@login_required
@require_safe
def list_changes(request: SignedInRequest) -> HttpResponse:
    """Renders the parts of an open list that have changed, or returns 204 if none has."""
    poll = ListPoll(request)
    if poll.is_known_to_find_nothing():
        return HttpResponse(status=204)
    shown = _read(request)
    rows = request.GET.getlist("seen")[:MOST_SEEN]
    if shown.seen_order != request.GET.get("order") or len(rows) != len(shown.rows):
        return render(request, "projects/list_part.html", _describe(shown) | {"out_of_band": True})
    changed = [row for row, seen in zip(shown.rows, rows, strict=True) if row.seen != seen]
    counts_changed = bool(shown.owned) and shown.seen_counts != request.GET.get("counts")
    if not (changed or counts_changed):
        poll.found_nothing(shown.steadiness)
        return HttpResponse(status=204)
    page = {"list": shown, "changed": add_curves(changed), "counts": counts_changed}
    return render(request, "projects/changes.html", page)


@login_required
@require_safe
def list_curves(request: SignedInRequest) -> HttpResponse:
    """Renders the curves of the page's rows. Changes of resource use alone do not count as changes of the list.

    A request without htmx, for example after signing in again, is redirected to the list.
    """
    if not request.htmx:
        return redirect(f"{reverse('projects:list')}{ListQuery.read(request.GET).address}")
    return render(request, "projects/curves.html", {"rows": add_curves(_read(request).rows)})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def act_on_many(request: SignedInRequest) -> HttpResponse:
    """Carries out a command on each chosen project, with a result for each.

    It processes as many as there is time for. The page continues with the rest by itself, or by a button without
    scripts. A GET, for example after signing in again, redirects to the list.
    """
    if request.method != "POST":
        return redirect("projects:list")
    form = BulkForm(request.POST)
    if not form.is_valid():
        messages.error(request, str(next(iter(form.errors.values()))[0]))
        return redirect("projects:list")
    batch = Batch(action=form.cleaned_data["action"], ids=form.cleaned_data["project"])
    if batch.deletes and not form.cleaned_data["confirmed"]:
        return _ask(request, batch)
    page = bulk.act_on_many(request, batch)
    return render(request, "projects/bulk_part.html" if request.htmx else "projects/bulk.html", page)


def _ask(request: SignedInRequest, batch: Batch) -> HttpResponse:
    """Asks for confirmation of a deletion, and deletes after it."""
    chosen = list(own_projects(request).filter(pk__in=batch.ids))
    form = ConfirmDeletionForm(len(chosen), request.POST if "number" in request.POST else None)
    if not form.is_valid():
        page = {"form": form, "projects": chosen}
        return render(request, "projects/bulk_delete.html", page, status=400 if form.is_bound else 200)
    chosen_batch = Batch(action=batch.action, ids=[project.pk for project in chosen])
    return render(request, "projects/bulk.html", bulk.act_on_many(request, chosen_batch))
