"""What staff have done stays on record, also after they have left."""

from django.contrib.admin.models import LogEntry

from accounts.models import User


def has_acted_as_staff(user: User) -> bool:
    """Returns whether rows name the user as the member of staff who acted. They would be deleted with the account."""
    return (
        LogEntry.objects.filter(user=user).exists() or User.objects.filter(pk=user.pk, batches__isnull=False).exists()
    )
