"""Which accounts the admin keeps, and why."""

from django.db.models import Q

from accounts.models import User
from accounts.services.staff_record import has_acted_as_staff

_INSTEAD = "Untick “active” on their page instead, which refuses their sessions and keys at once"
_GOING = Q(projects__desired="deleted")


def describe_kept_account(user: User) -> str:
    """Returns what stands in the way of the account's deletion, and what to do instead. Empty if nothing does."""
    if has_acted_as_staff(user):
        return f"{user} has acted as staff, and what staff have done stays on record. {_INSTEAD}."
    owned = User.objects.filter(pk=user.pk, projects__isnull=False)
    if owned.filter(~_GOING).exists():
        return f"{user} owns projects. {_INSTEAD}, or delete their projects first."
    if owned.exists():
        return f"The last projects of {user} are still being deleted. Try again once they are gone."
    return ""
