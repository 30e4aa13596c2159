"""Routes under /api."""

from django.urls import path

from accounts.api.shortcuts import shortened
from projects.api.shortcuts import detail_shortcut, list_shortcut
from projects.api.viewsets.bulk_control import BulkControlView
from projects.api.viewsets.catalogue import AgentTypeViewSet, PlanViewSet
from projects.api.viewsets.events import EventsView
from projects.api.viewsets.images import ProjectImageViewSet
from projects.api.viewsets.memory import ProjectMemoryViewSet
from projects.api.viewsets.pairing import ProjectPairingViewSet
from projects.api.viewsets.projects import ProjectViewSet
from projects.api.viewsets.reports import ProjectLogsView, ProjectReportsViewSet
from projects.api.viewsets.usage import ProjectUsageView

_projects = ProjectViewSet.as_view({"get": "list", "post": "create"})
_project = ProjectViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"})

urlpatterns = [
    path("projects", shortened(_projects, list_shortcut), name="projects"),
    path("projects/validate", ProjectViewSet.as_view({"post": "validate"}), name="project-validate"),
    path("projects/control", BulkControlView.as_view({"post": "control_all"}), name="projects-control"),
    path("projects/<str:id>", shortened(_project, detail_shortcut), name="project"),
    path("projects/<str:id>/control", ProjectViewSet.as_view({"post": "control"}), name="project-control"),
    path("projects/<str:id>/events", ProjectReportsViewSet.as_view({"get": "events"}), name="project-events"),
    path("projects/<str:id>/logs", ProjectLogsView.as_view({"get": "logs"}), name="project-logs"),
    path("projects/<str:id>/memory", ProjectMemoryViewSet.as_view({"delete": "destroy"}), name="project-memory"),
    path("projects/<str:id>/pairing", ProjectPairingViewSet.as_view({"post": "create"}), name="project-pairing"),
    path("projects/<str:id>/runs", ProjectReportsViewSet.as_view({"get": "runs"}), name="project-runs"),
    path("projects/<str:id>/stats", ProjectReportsViewSet.as_view({"get": "stats"}), name="project-stats"),
    path("projects/<str:id>/usage", ProjectUsageView.as_view({"get": "usage"}), name="project-usage"),
    path("projects/<str:id>/update", ProjectImageViewSet.as_view({"post": "update_image"}), name="project-update"),
    path("events", EventsView.as_view({"get": "list"}), name="events"),
    path("plans", PlanViewSet.as_view({"get": "list"}), name="plans"),
    path("types", AgentTypeViewSet.as_view({"get": "list"}), name="types"),
]
