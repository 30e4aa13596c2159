"""The parts of a project's page that have changed since the browser last asked."""

import re
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from accounts.http import SignedInRequest
from projects.dashboard.content.page_cache import PagePoll, answer_checked, knows_quick_answers, read_question
from projects.dashboard.content.project_page import describe_live
from projects.dashboard.content.project_rows import make_digest
from projects.dashboard.own_projects import find_project, read_run_number, redirects_once_gone
from projects.errors import UnknownRunError

PARTS = {
    "hello": "projects/hello.html",
    "pair": "projects/pair_now.html",
    "status": "projects/now.html",
    "checked": "projects/checked.html",
    "reason": "projects/reason.html",
    "buttons": "projects/buttons.html",
    "details": "projects/details.html",
    "usage": "projects/usage_in_short.html",
    "runs": "projects/run.html",
    "log": "projects/log.html",
    "events": "projects/events.html",
}
"""The templates of the parts that are marked `data-live`, by element id."""

_AGES = re.compile(r"(<time [^>]*data-ago[^>]*>)[^<]*")


@login_required
@require_safe
@redirects_once_gone
def show_changes(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Renders the parts whose marks are not in `seen`, with the log if requested, or returns 204 if there are none.

    If only the time of the last check is new, a page that asks with `quick` gets it in a header of the 204.
    """
    question = read_question(request)
    poll = PagePoll(request.user.pk, project_id, question.run) if question else None
    checked_at = poll.find_checked(question.seen) if poll and question else None
    if checked_at is not None:
        return answer_checked(checked_at)
    seen, has_log = set(request.GET.getlist("seen")), "log" in request.GET
    project = find_project(request, project_id)
    try:
        run, event = read_run_number(request), request.GET.get("event", "")
        page = describe_live(project, run=run, event=event, has_log=has_log)
    except UnknownRunError as error:
        raise Http404(str(error)) from None
    parts = [_make_part(name, page) for name in PARTS if name != "log" or has_log]
    if poll:
        poll.remember(page["snapshot"], [part["mark"] for part in parts if part["name"] != "checked"])
    changed = [part for part in parts if part["mark"] not in seen]
    checked_at = page["snapshot"].checked_at
    if knows_quick_answers(request) and checked_at and all(part["name"] == "checked" for part in changed):
        return answer_checked(checked_at)
    return render(request, "projects/parts.html", {"parts": changed}) if changed else HttpResponse(status=204)


def _make_part(name: str, page: dict[str, Any]) -> dict[str, str]:
    """Renders a part with its mark. The mark ignores words for how long ago something was, which times.js updates."""
    text = render_to_string(PARTS[name], page)
    ageless = _AGES.sub(r"\1", text)
    return {"name": name, "text": text, "mark": f"{name}.{make_digest(ageless)}"}
