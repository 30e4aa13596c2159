"""Projects in the admin, which acts on them only through the services."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from accounts.admin_site.confirmation import asks_first
from accounts.admin_site.permissions import ReadableByStaff
from projects.admin.allowances import AllowanceAdmin
from projects.admin.budgets import BudgetMixin
from projects.admin.catalogue import CapacityMixin
from projects.admin.confinement import CONFINING, ConfinementMixin
from projects.admin.events import EventAdmin
from projects.admin.growth import GrowthMixin
from projects.admin.images import IMAGES, ImageUpdateMixin
from projects.admin.logs import LogMixin
from projects.admin.providers import ProviderAdmin
from projects.admin.quarantine import HoldWarningMixin, QuarantinedAdmin
from projects.admin.statuses import ReasonFilter, ReasonForm, StatusFilter, StatusMixin
from projects.models import Allowance, Event, Project, Provider, Quarantined
from projects.models.rows.snapshot import take_snapshot
from projects.rules.disk import describe_size
from projects.services.limits.disk import describe_unmeasured
from projects.services.observation import refresh


class FreshChangeList(ChangeList):
    """Updates the rows of a page with one question to the engine if the watcher has not updated them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        refresh(self.result_list)


@admin.register(Project)
class ProjectAdmin(
    ReadableByStaff,
    StatusMixin,
    HoldWarningMixin,
    CapacityMixin,
    GrowthMixin,
    BudgetMixin,
    ConfinementMixin,
    ImageUpdateMixin,
    LogMixin,
):
    """Shows projects and acts on them. The fields do not include credentials, not even encrypted ones."""

    list_display = ("name", "owner", "agent_type", "plan", "current_status", "why", "memory_on_disk", "created_at")
    list_filter = (
        *(StatusFilter, ReasonFilter, "desired", "plan", "agent_type"),
        *((field, admin.EmptyFieldListFilter) for field in ("suspended_at", "reconcile_failed_at")),
    )
    list_select_related = ("owner", "plan", "agent_type")
    search_fields = ("id", "name", "owner__email", "bot_username")
    action_form = ReasonForm
    actions = ("start", "stop", "restart", "suspend", "lift", *CONFINING, *IMAGES, "clear_memories", "delete_projects")
    fields = (
        *("id", "name", "owner", "agent_type", "plan", "settings", "bot_username", "provider"),
        *(
            "status_and_reason",
            "log_tail",
            "desired",
            "suspended_at",
            "suspended_because",
            "operation",
            "operation_deadline",
        ),
        *("container_name", "container_id", "uid", "container_state", "health", "exit_code", "oom_killed"),
        *(
            "restart_count",
            "memory_on_disk",
            "budget_in_force",
            "egress_in_force",
            "image_in_force",
            "address",
            "is_behind_gateway",
            "polled_at",
            "agent_paired",
        ),
        "started_at",
        *("finished_at", "observed_at", "trouble_of_the_watcher", "created_at", "updated_at"),
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        rows: QuerySet[Project] = super().get_queryset(request)
        return rows.with_heartbeat()  # type: ignore[attr-defined,no-any-return]  # Project's own QuerySet

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return FreshChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Project | None:
        project: Project | None = super().get_object(request, object_id, from_field)
        if project is not None:
            refresh([project])
        return project

    @admin.display(description="status")
    def status_and_reason(self, project: Project) -> str:
        """The status and its reason in one field, because both must be derived from the same moment."""
        snapshot = take_snapshot(project)
        label = str(snapshot.status.label)
        return f"{label}: {snapshot.reason['message']}" if snapshot.reason else label

    @admin.display(description="memory on disk", ordering="disk_used")
    def memory_on_disk(self, project: Project) -> str:
        if project.disk_measured_at is None:
            return f"{describe_size(project.disk_share.limit)} at most, {describe_unmeasured()}"
        return f"{project.disk_share.describe()}, as of {project.disk_measured_at:%Y-%m-%d %H:%M} UTC"

    @admin.display(description="watcher")
    def trouble_of_the_watcher(self, project: Project) -> str:
        if not project.reconcile_failures or not project.reconcile_again_at:
            return "Looks after it."
        return (
            f"Failed {project.reconcile_failures} times in a row, at last with {project.reconcile_error} "
            f"at {project.reconcile_failed_at:%Y-%m-%d %H:%M:%S} UTC. "
            f"It tries again at {project.reconcile_again_at:%Y-%m-%d %H:%M:%S} UTC. Its log says more."
        )

    @admin.action(description="Start")
    def start(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "start")

    @admin.action(description="Stop")
    def stop(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "stop")

    @admin.action(description="Restart")
    def restart(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "restart")

    @admin.action(description="Suspend: stop, and keep the owner from starting")
    def suspend(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        because = self.read_reason(request)
        return None if because is None else self.act_on_each(request, chosen, "suspend", because=because)

    @admin.action(description="Lift the suspension")
    def lift(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "lift")

    @asks_first(
        verb="Clear the memory of",
        consequence="What the agents remember is deleted permanently. Running agents start again with an empty memory.",
        typed=True,
        describe=lambda project: f"{project.name}, of {project.owner}",
    )
    @admin.action(description="Clear the agent's memory")
    def clear_memories(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "clear_memories")

    @asks_first(
        verb="Delete",
        consequence="The containers, what the agents remember and their credentials are removed permanently.",
        typed=True,
        describe=lambda project: f"{project.name}, of {project.owner}",
    )
    @admin.action(description="Delete, with container and state")
    def delete_projects(self, request: HttpRequest, chosen: QuerySet[Project]) -> HttpResponse | None:
        return self.act_on_each(request, chosen, "delete_projects")


admin.site.register(Allowance, AllowanceAdmin)
admin.site.register(Quarantined, QuarantinedAdmin)
admin.site.register(Provider, ProviderAdmin)
admin.site.register(Event, EventAdmin)
