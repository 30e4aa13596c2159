"""Events in the admin, which can be found by their project."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from accounts.admin_site.permissions import ReadableByStaff
from projects.models import Event, Project

MOST_NAMED = 100
"""The maximum number of projects whose events a search by name finds."""


class EventAdmin(ReadableByStaff, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    list_display = ("at", "actor", "source", "address", "project", "action", "outcome", "detail")
    list_filter = ("action", "outcome")
    search_fields = ("project_id", "actor")
    search_help_text = "The name or the id of a project, or who acted."
    date_hierarchy = "at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        names = Project.objects.filter(pk=OuterRef("project_id")).values("name")
        rows: QuerySet[Event] = super().get_queryset(request)
        return rows.annotate(project_name=Subquery(names))

    @admin.display(description="project", ordering="project_id")
    def project(self, event: Any) -> str:
        """Links to the project's page by its name. Shows the id of a deleted project, by which its events are found."""
        if event.project_name is None:
            return str(event.project_id)
        address = reverse("admin:projects_project_change", args=[event.project_id])
        return format_html('<a href="{}">{}</a>', address, event.project_name)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        """Also finds events by the names of projects."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if search_term.strip() and not found.query.is_empty():
            named = Project.objects.filter(name__icontains=search_term.strip()).values_list("pk", flat=True)
            found |= queryset.filter(project_id__in=list(named[:MOST_NAMED]))
        return found, may_repeat
