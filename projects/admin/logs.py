"""The log of a project in the admin. The page polls for new lines, so that it holds no thread."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from accounts import audit, clock
from accounts.admin_site.permissions import staff_user
from containers.errors import EngineError
from projects.credentials.encryption import SecretUnreadableError
from projects.models import Project
from projects.rules.log_lines import read_lines
from projects.services.reports.log_events import read_new_lines
from projects.services.reports.logs import read_logs

FIRST_LINES = 200
NOTED_AGAIN = timedelta(hours=1)
"""How long one line in the audit log covers further reading."""

_NOTES = "read_logs"
_MOST_NOTES = 20
"""How many projects a session remembers as read."""


class OutputNotedMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Notes in the audit log who has read a page of a row that shows what an agent printed."""

    output_field = ""
    """The column with the agent's last lines. They may be absent."""

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        row = kwargs.get("obj")
        if row is not None and getattr(row, self.output_field):
            note_reading(request, row.pk)
        return super().render_change_form(request, context, *args, **kwargs)


class LogMixin(OutputNotedMixin):
    """Adds the page and its polls. The audit log records each reader once an hour and session."""

    output_field = "log_tail"

    def get_urls(self) -> list[URLPattern]:
        page, news = (self.admin_site.admin_view(require_safe(view)) for view in (self.log_view, self.log_news))
        return [
            path("<uuid:project_id>/log/", page, name="projects_project_log"),
            path("<uuid:project_id>/log/news/", news, name="projects_project_log_news"),
            *super().get_urls(),
        ]

    def log_view(self, request: HttpRequest, project_id: UUID) -> HttpResponse:
        project = self._find(request, project_id)
        note_reading(request, project.pk)
        lines, silence = [], ""
        try:
            lines = read_lines(read_logs(project=project, tail=FIRST_LINES))
        except (EngineError, SecretUnreadableError) as error:
            silence = str(error)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": project,
            "title": f"Log of {project.name}",
            "log": lines,
            "silence": silence,
        }
        return TemplateResponse(request, "admin/projects/project/log.html", context)

    def log_news(self, request: HttpRequest, project_id: UUID) -> HttpResponse:
        """Returns the lines after the last one that the page has, as server-sent events. The browser asks again."""
        project = self._find(request, project_id)
        after = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
        try:
            events = read_new_lines(project, after=after)
        except (EngineError, SecretUnreadableError) as error:
            return HttpResponse(str(error), status=503, content_type="text/plain; charset=utf-8")
        note_reading(request, project.pk)
        return HttpResponse(events, content_type="text/event-stream", headers={"Cache-Control": "no-store"})

    def _find(self, request: HttpRequest, project_id: UUID) -> Project:
        project: Project | None = self.get_queryset(request).filter(pk=project_id).first()
        if project is None:
            raise Http404("There is no such project.")
        return project


def note_reading(request: HttpRequest, project_id: UUID | str) -> None:
    now, key = clock.now().timestamp(), str(project_id)
    noted: dict[str, float] = request.session.get(_NOTES, {})
    if 0 <= now - noted.get(key, 0) < NOTED_AGAIN.total_seconds():
        return
    audit.record("admin_read_log", by=staff_user(request).pk, id=project_id)
    latest = sorted((noted | {key: now}).items(), key=lambda each: each[1])
    request.session[_NOTES] = dict(latest[-_MOST_NOTES:])
