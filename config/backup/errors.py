"""What keeps a backup or a restore from being done."""

from django.core.management.base import CommandError


class BackupError(CommandError):
    """The message is one sentence for the operator, or two, and holds no secret."""
