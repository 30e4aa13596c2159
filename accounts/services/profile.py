"""What users say about themselves."""

from accounts import audit
from accounts.models import User


def rename(*, user: User, name: str) -> None:
    """Sets the name by which the pages address the user."""
    if User.objects.filter(pk=user.pk).exclude(name=name).update(name=name):
        audit.record("renamed", user=user.pk)
    user.name = name
