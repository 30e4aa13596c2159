"""Who may do what in the admin, as mixins for its pages. Roles decide; Django's permissions and groups are not used."""

from typing import Any, cast

from django.http import HttpRequest

from accounts.models import User


def is_staff(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_active and request.user.is_staff


def is_admin(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_superuser and is_staff(request)


def staff_user(request: HttpRequest) -> User:
    """Who sent a request to the admin, where nobody else comes in."""
    return cast("User", request.user)


class ReadableByStaff:
    """For a ModelAdmin: staff see it, and nobody adds, changes or deletes anything."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        return is_staff(request)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False


class KeptByAdmins(ReadableByStaff):
    """For a ModelAdmin: staff see it, admins keep it."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_admin(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return is_admin(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return is_admin(request)
