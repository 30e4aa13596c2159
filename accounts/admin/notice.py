"""The notice on all pages, in the admin: one row, which all staff may change."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts.admin_site.permissions import EditableByStaff, is_staff
from accounts.models import Notice


class NoticeAdmin(EditableByStaff, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    fields = ("text", "is_maintenance")
    list_display = ("__str__", "text", "is_maintenance")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request) and not Notice.objects.exists()

    def save_model(self, request: HttpRequest, obj: Notice, form: Any, change: bool) -> None:
        obj.pk = 1  # one row, even if two people add it at the same moment
        super().save_model(request, obj, form, change)
