"""Budgets in the admin: prices of models, top spenders, and the budgets that staff grant single projects."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from accounts.admin_site.open_forms import OpenForm
from accounts.admin_site.permissions import ReadableByStaff, is_admin, is_staff
from accounts.models import Role
from projects.admin.actors import actor_of
from projects.models import ModelPrice, Plan, Project, Spending
from projects.rules.budget import LIMITS, Budget, describe_budget, describe_money
from projects.services.limits.budgets import grant_budget, renew_all_entries

DEAREST = (
    "For a million tokens. A model has one price. Where its prices differ, as for sounds and at many for long inputs, "
    "enter the dearest. Only of GPT-5.4 and later, Gemini Pro and Grok enter that of short inputs: their long ones "
    "count twice by themselves."
)
"""The help text for staff who enter a price."""


@admin.register(ModelPrice)
class ModelPriceAdmin(ReadableByStaff, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Prices of models. A change reaches the gateway within seconds."""

    list_display = ("model", "input", "output", "cached")
    search_fields = ("model",)

    def get_form(self, request: HttpRequest, obj: Any = None, *given: Any, **options: Any) -> Any:
        return super().get_form(request, obj, *given, help_texts={"input": DEAREST}, **options)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_staff(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_staff(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("model",) if obj else ()

    def save_model(self, request: HttpRequest, obj: ModelPrice, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        renew_all_entries()

    def delete_model(self, request: HttpRequest, obj: ModelPrice) -> None:
        super().delete_model(request, obj)
        renew_all_entries()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ModelPrice]) -> None:
        super().delete_queryset(request, queryset)
        renew_all_entries()


@admin.register(Spending)
class SpendingAdmin(ReadableByStaff, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Spending by project. The top spenders of the month come first."""

    list_display = (
        *("project", "owner", "month", "month_tokens", "spent_in_month", "month_requests", "month_messages"),
        *("day", "day_tokens", "spent_in_day"),
    )
    list_filter = ("month",)
    list_select_related = ("project__owner",)
    ordering = ("-month", "-month_money", "-month_tokens")

    @admin.display(ordering="project__owner__email")
    def owner(self, row: Spending) -> str:
        return str(row.project.owner)

    @admin.display(description="money in the month", ordering="month_money")
    def spent_in_month(self, row: Spending) -> str:
        return describe_money(row.month_money)

    @admin.display(description="money in the day", ordering="day_money")
    def spent_in_day(self, row: Spending) -> str:
        return describe_money(row.day_money)


class GrantForm(OpenForm, forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only
    class Meta:
        model = Project
        fields = tuple(f"granted_{name}" for name in LIMITS)


class BudgetMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Adds the page on which staff grant one project another budget than its plan's."""

    change_form_template = "admin/projects/project/change_form.html"

    @admin.display(description="budget")
    def budget_in_force(self, project: Project) -> str:
        limits = describe_budget(project.budget)
        return (
            ", ".join(f"{name.replace('_', ' ')}: {limit}" for name, limit in limits.items() if limit is not None)
            or "no limit"
        )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.budget_view)
        return [path("<uuid:project_id>/budget/", view, name="projects_project_budget"), *super().get_urls()]

    def may_grant(self, request: HttpRequest, project: Project) -> bool:
        """Returns whether the user may grant a budget: like allowances, only admins give them to staff and admins."""
        return is_admin(request) or (is_staff(request) and project.owner.role == Role.USER)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        project = kwargs.get("obj")
        context["may_grant"] = project is not None and self.may_grant(request, project)
        return super().render_change_form(request, context, *args, **kwargs)

    def budget_view(self, request: HttpRequest, project_id: UUID) -> HttpResponse:
        project: Project | None = self.get_object(request, str(project_id))
        if project is None:
            raise Http404("There is no such project.")
        if not self.may_grant(request, project):
            raise PermissionDenied("Only admins grant budgets to staff and admins.")
        form = GrantForm(request.POST or None, instance=project)
        if request.method == "POST" and form.is_valid():
            granted = Budget(**{name: form.cleaned_data[f"granted_{name}"] for name in LIMITS})
            grant_budget(project=project, granted=granted, actor=actor_of(request))
            self.log_change(request, project, "Granted a budget.")
            self.message_user(request, f"The budget of {project.name} is granted.", messages.SUCCESS)
            return redirect("admin:projects_project_change", project.pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": project,
            "title": f"Budget of {project.name}",
            "form": form,
            "plan": _describe_limits(project.plan),
        }
        return TemplateResponse(request, "admin/projects/project/budget.html", context)


def _describe_limits(plan: Plan) -> dict[str, str | None]:
    limits = {name: getattr(plan, name) for name in LIMITS}
    return {name: None if limit is None else f"{limit:,}" for name, limit in limits.items()}
