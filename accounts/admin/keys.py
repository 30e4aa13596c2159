"""API keys in the admin. It shows no key."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin_site.confirmation import asks_first, describe_done
from accounts.admin_site.permissions import ReadableByStaff, staff_user
from accounts.errors import UnknownKeyError
from accounts.models import ApiKey, User
from accounts.services.api_keys import revoke_api_key


class ApiKeyAdmin(ReadableByStaff, admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Shows API keys and revokes them. Only admins revoke the keys of admins."""

    fields = (
        *("name", "user", "hint", "scope", "created_at", "expires_at"),
        *("last_used_at", "last_used_ip", "revoked_at"),
    )
    list_display = ("name", "user", "hint", "scope", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("scope", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("user",)
    search_fields = ("name", "user__email", "hint")
    actions = ("revoke",)

    @asks_first(
        verb="Revoke",
        consequence="Programs that use these keys are refused from the next request on.",
        describe=lambda key: f"{key}, of {key.user}",
    )
    @admin.action(description="Revoke the selected API keys")
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        by = staff_user(request)
        allowed = chosen if by.is_superuser else chosen.filter(user__is_superuser=False)
        revoked, number = sum(_revoke(key, by=by) for key in allowed), chosen.count()
        reasons = {
            "Only admins revoke the keys of admins.": number > allowed.count(),
            "Keys that were revoked before stay as they are.": allowed.count() > revoked,
        }
        self.message_user(request, *describe_done("Revoked", revoked, number, reasons))


def _revoke(key: ApiKey, *, by: User) -> bool:
    try:
        revoke_api_key(key_id=key.pk, by=by)
    except UnknownKeyError:
        return False
    return True
