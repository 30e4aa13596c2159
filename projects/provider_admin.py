"""The providers that the staff name, in the admin. Admins keep them, for users' keys are sent there."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from accounts.admin_permissions import EditableByAdmins, is_admin
from containers.public_http import AddressRefusedError, NoAnswerError, check_address
from projects.models import Project, Provider
from projects.rules.lifecycle import Desired
from projects.services.budgets import pass_on_provider

NOT_PUBLIC = (
    "This leads into a private network or to this machine. Tick “private” where that is meant; agents without the "
    "gateway then need BERTH_EGRESS_ALLOW, too."
)


class ProviderForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only, as the next one
    class Meta:
        model = Provider
        fields = ("slug", "title", "base_url", "key_prefix", "default_model", "is_private")

    def clean(self) -> dict[str, Any]:
        """Looks up where it leads. That it is private is for the staff to say."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        base = found.get("base_url", "")
        if not found.get("is_private") and base.startswith("https://"):  # what is wrong with others the model says
            try:
                check_address(base, within=settings.BERTH_OUTSIDE_LIMIT)
            except AddressRefusedError:
                self.add_error("base_url", NOT_PUBLIC)
            except NoAnswerError as error:
                self.add_error("base_url", str(error))
        return found


class ProviderAdmin(EditableByAdmins, admin.ModelAdmin):  # type: ignore[type-arg]  # likewise
    """A change of where it is reaches the gateway within seconds."""

    form = ProviderForm
    list_display = ("slug", "title", "base_url", "key_prefix", "default_model", "is_private", "used_by")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        found: QuerySet[Provider] = super().get_queryset(request)
        mine = Project.objects.filter(provider=OuterRef("slug")).exclude(desired=Desired.DELETED)
        used = mine.order_by().values("provider").annotate(used=Count("pk")).values("used")
        return found.annotate(used=Coalesce(Subquery(used), 0))

    @admin.display(description="used by", ordering="used")
    def used_by(self, row: Any) -> str:
        return "1 project" if row.used == 1 else f"{row.used} projects"

    def get_readonly_fields(self, request: HttpRequest, obj: Provider | None = None) -> tuple[str, ...]:
        """Projects refer to the slug."""
        return ("slug", *super().get_readonly_fields(request, obj)) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Provider | None = None) -> bool:
        """One after the other, and none that a project uses."""
        return is_admin(request) and obj is not None and not _is_used(obj)

    def save_model(self, request: HttpRequest, obj: Provider, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "base_url" in form.changed_data:
            pass_on_provider(obj.slug)

    def delete_model(self, request: HttpRequest, obj: Provider) -> None:
        if _is_used(obj):
            raise PermissionDenied("A project uses this provider.")
        super().delete_model(request, obj)


def _is_used(provider: Provider) -> bool:
    return Project.objects.filter(provider=provider.pk).exclude(desired=Desired.DELETED).exists()
