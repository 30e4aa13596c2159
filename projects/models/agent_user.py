"""The Unix user of each agent: a number that no other project has or ever had.

The kernel limits many resources per user across all containers: inotify instances, pages of pipes, pending signals,
queues, locked memory, files in transit on sockets. Agents that shared a user could exhaust them for each other.
"""

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q

from projects.models.installation import Installation, lock_installation, read_installation

LOWEST = 1_879_048_192
"""systemd's table of users and groups has no entry from here to 2,147,352,575, and subordinate users end before it.
Docker accepts no number from 2^31 on."""

BLOCK = 65_536
BLOCKS = 4_000


class RunsAsUser(models.Model):
    """A row whose container runs as a user of its own."""

    uid = models.PositiveIntegerField("Unix user", null=True, editable=False)
    """The id of the user and of its group. None for a project last deployed when all agents ran as `AGENT_USER`."""

    class Meta:
        abstract = True

    def change_uid(self) -> None:
        """Takes a number in place of the present one, or of none. If another process has done so, its number stays.

        Raises `ProjectGoneError`.
        """
        with transaction.atomic():
            uid = take_uid()
            type(self)._default_manager.filter(pk=self.pk, uid=self.uid).update(uid=uid)
        self.refresh_from_db(fields=["uid"])


def take_uid() -> int:
    """Returns a number for a new project. Numbers only rise, even if projects are deleted or `BERTH_UID_BASE` falls.

    Call it in a transaction: it locks the installation's row until the end, so that no number is given out twice.
    """
    installation = lock_installation()
    uid = max(installation.next_uid or 0, settings.BERTH_UID_BASE or base_of(installation.identifier))
    Installation.objects.filter(pk=installation.pk).update(next_uid=uid + 1)
    return uid


def pass_over(highest: int) -> None:
    """Marks numbers up to this one as used, because the engine has them and the database may be an older backup."""
    installation = read_installation()
    if installation.next_uid is None or installation.next_uid <= highest:  # it only rises: most calls need no write
        row = Installation.objects.filter(pk=installation.pk)
        row.filter(Q(next_uid=None) | Q(next_uid__lte=highest)).update(next_uid=highest + 1)


def base_of(identifier: str) -> int:
    """Returns an installation's first number if no setting gives one.

    It depends on the installation's id, so that two installations on one engine differ.
    """
    return LOWEST + int(identifier, 16) % BLOCKS * BLOCK
