"""Finds the admins, of whom at least one must remain."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from accounts.models import User


def lock_admins(*, and_also: Iterable[UUID] = ()) -> set[UUID]:
    """Returns the ids of the active admins. Locks their rows, and those of `and_also`, until the transaction ends.

    Nobody takes their own rights. So an admin always remains if those who take the rights of others still have their
    own under this lock.
    """
    wanted = User.objects.filter(Q(is_superuser=True, is_active=True) | Q(pk__in=[*and_also]))
    rows = wanted.select_for_update().order_by("pk").values_list("pk", "is_superuser", "is_active")
    return {pk for pk, is_superuser, is_active in rows if is_superuser and is_active}
