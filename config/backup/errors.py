"""The error that stops a backup or a restore."""

from django.core.management.base import CommandError


class BackupError(CommandError):
    """The message has one or two sentences for the operator, and contains no secret."""
