"""The staff's decision where one project's agent may go, in the admin."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from projects.batch_admin import ActsOnEach, actor_of
from projects.models import Project
from projects.rules.permissions import Egress
from projects.services.permissions import impose_egress

CONFINING = ("confine", "let_out")


class ConfinesAgents(ActsOnEach):
    @admin.display(description="reaches")
    def egress_in_force(self, project: Project) -> str:
        return f"{project.egress.label}, from its next start on"

    @admin.action(description="Let reach the gateway alone, from the next start on")
    def confine(self, request: HttpRequest, chosen: QuerySet[Project]) -> None:
        self._impose(request, chosen, Egress.GATEWAY)

    @admin.action(description="Let reach what its type and its owner say")
    def let_out(self, request: HttpRequest, chosen: QuerySet[Project]) -> None:
        self._impose(request, chosen, Egress.INTERNET)

    def _impose(self, request: HttpRequest, chosen: QuerySet[Project], egress: Egress) -> None:
        actor = actor_of(request)
        self._each(request, chosen, lambda project: impose_egress(project=project, egress=egress, actor=actor))
