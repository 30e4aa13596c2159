"""Permissions of the admin, as mixins. Roles decide; Django's permissions and groups are not used."""

from typing import TYPE_CHECKING, Any, cast

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts import audit
from accounts.admin_site.deletion import ExplainedDeletion
from accounts.admin_site.lookups import DeclaredLookups
from accounts.admin_site.open_forms import KeepsOthersChanges
from accounts.models import User

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin
    from django.contrib.admin.models import LogEntry

    _Base = ModelAdmin[Any]
else:
    _Base = object


def is_staff(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_active and request.user.is_staff


def is_admin(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_superuser and is_staff(request)


def staff_user(request: HttpRequest) -> User:
    """Returns the sender of a request to the admin, which only staff can send."""
    return cast("User", request.user)


class Audited(_Base):
    """For a ModelAdmin: writes every change to the audit log, in addition to Django's own history."""

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Deletes only if the confirmation page was sent. Django would accept any POST."""
        if request.method == "POST" and request.POST.get("post") != "yes":
            return redirect(request.get_full_path())
        return super().delete_view(request, object_id, extra_context)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> "LogEntry":
        _record("added", request, obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> "LogEntry":
        _record("changed", request, obj, fields=_changed_fields(message))
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> "list[LogEntry]":
        for obj in queryset:
            _record("deleted", request, obj)
        return super().log_deletions(request, queryset)


def _record(action: str, request: HttpRequest, obj: Model, **facts: object) -> None:
    name = obj._meta.model_name
    details: dict[str, object] = {"by": staff_user(request).pk, "what": name, "id": obj.pk, **facts}
    audit.record(f"admin_{action}", **details)  # type: ignore[arg-type]  # no fact is called `level`


def _changed_fields(message: Any) -> str:
    """Returns the names of the changed fields, never a value; `-` for a change that came from no form."""
    entries = message if isinstance(message, list) else []
    changed = [entry["changed"]["fields"] for entry in entries if "fields" in entry.get("changed", {})]
    return ",".join(str(name).replace(" ", "_") for names in changed for name in names) or "-"


class ReadableByStaff(Audited, ExplainedDeletion, DeclaredLookups, KeepsOthersChanges):
    """For a ModelAdmin: staff can see the rows; nobody can add, change or delete any."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_staff(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class EditableByAdmins(ReadableByStaff):
    """For a ModelAdmin: staff can see the rows; admins can add, change and delete them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_admin(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_admin(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_admin(request)


class EditableByStaff(ReadableByStaff):
    """For a ModelAdmin: staff can see and change the rows; nobody can add or delete any."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_staff(request)
