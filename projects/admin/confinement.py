"""The admin's actions that decide what single agents may reach."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from projects.admin.batches import BatchActionsMixin
from projects.models import Project

CONFINING = ("confine", "let_out")


class ConfinementMixin(BatchActionsMixin):
    @admin.display(description="reaches")
    def egress_in_force(self, project: Project) -> str:
        return f"{project.egress.label}, from its next start on"

    @admin.action(description="Let reach the gateway alone, from the next start on")
    def confine(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "confine")

    @admin.action(description="Let reach what its type and its owner say")
    def let_out(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "let_out")
