"""The log of an agent for its page: followed live, and as a file."""

from functools import partial
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe
from rest_framework.exceptions import AuthenticationFailed

from accounts.http import SignedInRequest
from containers.agent_reports import parse_time
from containers.errors import EngineError
from projects.api.streams.logs import EventStream, send_stream
from projects.credentials.encryption import SecretUnreadableError
from projects.dashboard.downloads import SessionRevalidation
from projects.dashboard.own_projects import find_project, read_run_number, redirects_once_gone
from projects.dashboard.refusals import status_of
from projects.errors import ProjectError, UnknownRunError
from projects.services.reports.log_events import MOST_LINES, encode_line, skip_known
from projects.services.reports.logs import read_logs
from projects.services.reports.runs import current_number, read_run


@login_required
@require_safe
@redirects_once_gone
def follow_log(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """Streams the lines after the one with the timestamp `after`, as server-sent events."""
    project = find_project(request, project_id)
    after = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    since = parse_time(after)
    lines = read_logs(project=project, tail=None if since else MOST_LINES, since=since, follow=True)
    try:
        lines = skip_known(lines, after if since else "")
        checks = SessionRevalidation(request)
        check = partial(checks.check_project, project)
        return send_stream(EventStream(project.owner, lines, revalidation=checks, write=encode_line, check=check))
    except (ProjectError, EngineError, SecretUnreadableError, AuthenticationFailed) as error:
        return HttpResponse(str(error), status=status_of(error), content_type="text/plain; charset=utf-8")


@login_required
@require_safe
def download_log(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Returns the whole log of a run as it was printed, without credentials."""
    project = find_project(request, project_id)
    number = read_run_number(request)
    try:
        if number is None or number == current_number(project):
            lines = list(read_logs(project=project))
        else:
            lines = list(read_run(project=project, number=number))
    except UnknownRunError as error:
        raise Http404(str(error)) from None
    except (EngineError, SecretUnreadableError) as error:
        return HttpResponse(str(error), status=status_of(error), content_type="text/plain; charset=utf-8")
    answer = HttpResponse("".join(f"{line}\n" for line in lines), content_type="text/plain; charset=utf-8")
    run = number or current_number(project)
    answer["Content-Disposition"] = f'attachment; filename="log-{project.pk}-run-{run}.txt"'
    return answer
