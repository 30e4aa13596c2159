"""The Unix user of each agent: a number that no other project has or has had.

The kernel counts much by user and across all containers: inotify instances, pages of pipes, pending signals, queues,
locked memory, files under way in sockets. Agents of one user could take these from each other.
"""

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q

from projects.models.installation import Installation, lock_installation, read_installation

LOWEST = 1_879_048_192
"""From here to 2,147,352,575 systemd's table of users and groups has nobody, and subordinate users end before it.
Docker takes no number from 2^31 on."""

BLOCK = 65_536
BLOCKS = 4_000


class RunsAsUser(models.Model):
    """Something that runs in a container as a user of its own."""

    uid = models.PositiveIntegerField("Unix user", null=True, editable=False)
    """The number of the user and of its group. None for a project that was last deployed when all had `AGENT_USER`."""

    class Meta:
        abstract = True

    def ensure_uid(self) -> None:
        """Takes a number where there is none. Raises `ProjectGoneError`."""
        if self.uid is not None:
            return
        with transaction.atomic():
            uid = take_uid()
            type(self)._default_manager.filter(pk=self.pk, uid=None).update(uid=uid)
        self.refresh_from_db(fields=["uid"])


def take_uid() -> int:
    """A number for a new project. Numbers only go up, also when projects are deleted and when `BERTH_UID_BASE` falls.

    Call it in a transaction: it locks the installation's row until the end of that, and nobody gets the same number.
    """
    installation = lock_installation()
    uid = max(installation.next_uid or 0, settings.BERTH_UID_BASE or base_of(installation.identifier))
    Installation.objects.filter(pk=installation.pk).update(next_uid=uid + 1)
    return uid


def pass_over(highest: int) -> None:
    """Numbers up to this one are given to nobody any more: the engine has them, and an older backup may not know."""
    installation = read_installation()
    if installation.next_uid is None or installation.next_uid <= highest:  # it only rises, so that most need no write
        row = Installation.objects.filter(pk=installation.pk)
        row.filter(Q(next_uid=None) | Q(next_uid__lte=highest)).update(next_uid=highest + 1)


def base_of(identifier: str) -> int:
    """The first number of an installation that was told none: its id chooses, so that two on one engine differ."""
    return LOWEST + int(identifier, 16) % BLOCKS * BLOCK
