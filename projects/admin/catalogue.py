"""The catalogue in the admin: plans and agent types."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, JSONField, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods

from accounts.admin_site.permissions import EditableByAdmins
from projects.admin.schema import SchemaEditorMixin
from projects.models import AgentType, Plan
from projects.rules.budget import LIMITS
from projects.rules.settings.json_documents import FormJSONDecoder, FormJSONEncoder
from projects.rules.status.lifecycle import Desired
from projects.services.images.bases import describe_base, note_image_now
from projects.services.images.type_trial import try_in_request
from projects.services.images.update import count_old_images
from projects.services.limits.budgets import renew_budgets_of_plan
from projects.services.limits.capacity import measure_capacity
from projects.services.limits.permissions import renew_entries_of

FIRST = (
    *("slug", "title", "description", "image", "base_image", "declared", "old_images", "available", "is_default"),
    *("open_to_all", "max_projects", "memory_mb", "cpus", "pids", "disk_mb", "min_memory_mb", "needs_telegram_token"),
    *("needs_api_key", "pairs_people", "stop_timeout", "ready_timeout", "default_models"),
)
"""The first fields of plans and agent types on a form. Others follow in the order of their columns."""


class CapacityMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only, as are the others
    """Shows above its list how much memory is promised, and how much can be promised."""

    change_list_template = "admin/projects/change_list_with_capacity.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        capacity = {"capacity": measure_capacity(), "overcommit": settings.BERTH_OVERCOMMIT}
        return super().changelist_view(request, {**(extra_context or {}), **capacity})


class CatalogueAdmin(EditableByAdmins, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        used = Count("projects", filter=~Q(projects__desired=Desired.DELETED))
        found: QuerySet[Any] = super().get_queryset(request).annotate(used=used)
        return found

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Returns the fields: those that distinguish rows first, and those that most rows leave empty last."""
        names = [str(name) for name in super().get_fields(request, obj)]
        return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))

    @admin.display(description="used by", ordering="used")
    def used_by(self, row: Any) -> str:
        return "1 project" if row.used == 1 else f"{row.used} projects"

    def describe_kept(self, request: HttpRequest, row: Any) -> str:
        if row.projects.exclude(desired=Desired.DELETED).exists():
            return (
                f"“{row}” is in use, and cannot be deleted. Untick “available” on its page instead, and no new project "
                "can choose it. Projects that use it continue."
            )
        if row.projects.exists():
            return f"The last projects that use “{row}” are still being deleted. Try again once they are gone."
        return super().describe_kept(request, row)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The slug is read-only after creation, because projects refer to it."""
        return ("slug", *super().get_readonly_fields(request, obj)) if obj else ()


@admin.register(Plan)
class PlanAdmin(CatalogueAdmin, CapacityMixin):
    list_display = (
        *("slug", "memory_mb", "cpus", "pids", "disk_mb"),
        *("day_tokens", "month_tokens", "max_projects", "open_to_all", "available", "is_default", "used_by"),
    )

    def save_model(self, request: HttpRequest, obj: Plan, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and set(form.changed_data) & set(LIMITS):
            renew_budgets_of_plan(obj)
        if change and "allowed_models" in form.changed_data:
            renew_entries_of(obj)


@admin.register(AgentType)
class AgentTypeAdmin(SchemaEditorMixin, CatalogueAdmin):
    list_display = ("slug", "title", "image", "min_memory_mb", "egress", "available", "is_default", "used_by")
    formfield_overrides = {
        JSONField: {
            "decoder": FormJSONDecoder,
            "encoder": FormJSONEncoder,
            "error_messages": {"invalid": "Enter valid JSON, with each name once in an object."},
            "widget": forms.Textarea({"rows": 20, "cols": 90, "spellcheck": "false"}),
        }
    }

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_http_methods(["GET", "HEAD", "POST"])(self.trial_view))
        return [path("<slug:slug>/trial/", view, name="projects_agenttype_trial"), *super().get_urls()]

    def trial_view(self, request: HttpRequest, slug: str) -> HttpResponse:
        """Tries the type's image under the same conditions as agents, and shows the result. Leaves nothing behind.

        A GET, as after signing in again, redirects to the type.
        """
        agent_type: AgentType | None = self.get_object(request, slug)
        if agent_type is None:
            raise Http404("There is no such type.")
        if not self.has_change_permission(request, agent_type):
            raise PermissionDenied
        if request.method != "POST":
            return redirect("admin:projects_agenttype_change", slug)
        context = {
            **self.admin_site.each_context(request),
            **try_in_request(agent_type),
            "opts": self.opts,
            "original": agent_type,
            "title": f"Test of {agent_type.image}",
        }
        return TemplateResponse(request, "admin/projects/agenttype/trial.html", context)

    def get_readonly_fields(self, request: HttpRequest, obj: AgentType | None = None) -> tuple[str, ...]:
        return (*super().get_readonly_fields(request, obj), *(("base_image", "declared", "old_images") if obj else ()))

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Asks the engine about a new image only after Django's transaction."""
        before = dict(AgentType.objects.values_list("slug", "image")) if request.method == "POST" else {}
        answer = super().changeform_view(request, *args, **kwargs)
        for row in AgentType.objects.all() if request.method == "POST" else ():
            if row.image != before.get(row.slug):
                note_image_now(row)
        return answer

    def save_model(self, request: HttpRequest, obj: AgentType, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and {"allowed_models", "allowed_hosts"} & set(form.changed_data):
            renew_entries_of(obj)

    @admin.display(description="capabilities")
    def declared(self, agent_type: AgentType) -> str:
        """The capabilities in the image's label when the engine was last asked."""
        if not agent_type.image_id:
            return "The image is not on the engine, or Berth has not asked yet."
        return ", ".join(agent_type.capability_names) or "The image declares none."

    @admin.display(description="agents")
    def old_images(self, agent_type: AgentType) -> str:
        """How many agents run an old image. Start and restart keep it; only an update takes the newest."""
        old = count_old_images(agent_type)
        return f"{old} run the old image." if agent_type.image_id else "The image is not on the engine."

    @admin.display(description="base image")
    def base_image(self, agent_type: AgentType) -> str:
        return describe_base(image=agent_type.image)
