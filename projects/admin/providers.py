"""The providers in the admin. Only admins may change them, because users' keys are sent to them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, QueryDict

from accounts.admin_site.permissions import EditableByAdmins, is_admin
from containers.public_http import AddressRefusedError, NoAnswerError, check_address
from projects.models import Project, Provider
from projects.rules.status.lifecycle import Desired
from projects.services.limits.budgets import renew_entries_of_provider

NOT_PUBLIC = (
    "This leads into a private network or to this machine. Tick “private” where that is meant; agents without the "
    "gateway then need BERTH_EGRESS_ALLOW, too."
)


NOT_LOOKED_UP = "This address has not been looked up yet. Save it again."

_FAULTS = "faults of the address"


class ProviderForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only, as the next one
    class Meta:
        model = Provider
        fields = ("slug", "title", "base_url", "key_prefix", "default_model", "is_private")

    faults: Mapping[str, str] = MappingProxyType({})
    """The faults of the addresses that were looked up, by address; empty texts for good ones."""

    def clean(self) -> dict[str, Any]:
        """Checks that the address leads to a public server, unless staff marked the provider as private."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        base = found.get("base_url", "")
        is_public = not found.get("is_private") and base.startswith("https://")  # the model checks others
        if is_public and (fault := self.faults.get(base, NOT_LOOKED_UP)):
            self.add_error("base_url", fault)
        return found


def _find_faults(sent: QueryDict) -> dict[str, str]:
    """Looks up where the form's address leads, unless the provider is marked as private."""
    base = sent.get("base_url", "").strip()
    if sent.get("is_private") or not base.startswith("https://"):
        return {}
    try:
        check_address(base, within=settings.BERTH_OUTSIDE_LIMIT)
    except AddressRefusedError:
        return {base: NOT_PUBLIC}
    except NoAnswerError as error:
        return {base: str(error)}
    return {base: ""}


class ProviderAdmin(EditableByAdmins, admin.ModelAdmin):  # type: ignore[type-arg]  # likewise
    """Providers that staff added. A change of an address reaches the gateway within seconds."""

    form = ProviderForm
    list_display = ("slug", "title", "base_url", "key_prefix", "default_model", "is_private", "used_by")

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Looks the address up before Django's transaction, in which nothing may wait for a name server."""
        if request.method == "POST" and is_admin(request):
            vars(request)[_FAULTS] = _find_faults(request.POST)
        return super().changeform_view(request, *args, **kwargs)

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)
        return type(form.__name__, (form,), {"faults": vars(request).get(_FAULTS, {})})

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        found: QuerySet[Provider] = super().get_queryset(request)
        mine = Project.objects.filter(provider=OuterRef("slug")).exclude(desired=Desired.DELETED)
        used = mine.order_by().values("provider").annotate(used=Count("pk")).values("used")
        return found.annotate(used=Coalesce(Subquery(used), 0))

    @admin.display(description="used by", ordering="used")
    def used_by(self, row: Any) -> str:
        return "1 project" if row.used == 1 else f"{row.used} projects"

    def get_readonly_fields(self, request: HttpRequest, obj: Provider | None = None) -> tuple[str, ...]:
        """Makes the slug read-only, to which projects refer, and the prefix by which a project's provider was found."""
        if obj is None:
            return ()
        return ("slug", *(("key_prefix",) if _is_used(obj) else ()), *super().get_readonly_fields(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Provider | None = None) -> bool:
        """Allows deleting single providers that no project uses."""
        return is_admin(request) and obj is not None and not _is_used(obj)

    def save_model(self, request: HttpRequest, obj: Provider, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "base_url" in form.changed_data:
            renew_entries_of_provider(obj.slug)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Provider]) -> list[LogEntry]:
        """Refuses to delete providers in use. Django calls this in the same transaction before the deletion."""
        for row in queryset:
            Provider.objects.select_for_update().filter(pk=row.pk).first()  # requests about to use it lock it
            if _is_used(row):
                raise PermissionDenied("A project uses this provider.")
        return super().log_deletions(request, queryset)


def _is_used(provider: Provider) -> bool:
    return Project.objects.filter(provider=provider.pk).exclude(desired=Desired.DELETED).exists()
