"""Allowances in the admin: which plans users may take, and how many projects on each."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.admin_site.permissions import ReadableByStaff, is_admin, is_staff
from accounts.emails import normalise_email
from accounts.models import Role, User
from projects.models import Allowance


class UserByEmailField(forms.ModelChoiceField):  # type: ignore[type-arg]  # generic for the type checker only
    """Takes an email instead of offering a list of all users."""

    def __init__(self) -> None:
        messages = {"invalid_choice": "There is no user with this email. Add them first."}
        widget = forms.EmailInput(attrs={"class": "vTextField", "autocomplete": "off"})
        rows = User.objects.all()
        super().__init__(rows, to_field_name="email", widget=widget, label="Email", error_messages=messages)

    def to_python(self, value: Any) -> User | None:
        found: User | None = super().to_python(normalise_email(value) if isinstance(value, str) else value)
        return found


class AllowanceForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only
    user = UserByEmailField()

    class Meta:
        model = Allowance
        fields = ("user", "plan", "max_projects")


class AllowanceAdmin(ReadableByStaff, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Staff set allowances for ordinary users; only admins set them for staff and admins."""

    form = AllowanceForm
    list_display = ("user", "plan", "max_projects")
    list_display_links = ("user", "plan")
    list_select_related = ("user", "plan")
    list_filter = ("plan",)
    search_fields = ("user__email",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    def has_change_permission(self, request: HttpRequest, obj: Allowance | None = None) -> bool:
        return is_admin(request) or (is_staff(request) and (obj is None or obj.user.role == Role.USER))

    def has_delete_permission(self, request: HttpRequest, obj: Allowance | None = None) -> bool:
        return self.has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Allowance | None = None) -> tuple[str, ...]:
        return ("user", "plan") if obj else ()

    def save_model(self, request: HttpRequest, obj: Allowance, form: Any, change: bool) -> None:
        if not self.has_change_permission(request, obj):
            raise PermissionDenied("Only admins say which plans staff and admins may take.")
        super().save_model(request, obj, form, change)
