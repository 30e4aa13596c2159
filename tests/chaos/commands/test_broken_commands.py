"""A backup, a restore or a pass of the outbox at whose n-th change a disk is full, the database is away, or the process
is killed: the user reads a sentence, nothing is left half done, and a second run ends as if nothing had happened.

The short version takes some random points; the seed is in the test's output.
"""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import MailState, OutgoingMail, User
from accounts.services import code_alarm
from accounts.services.outbox import queue_mail
from config.backup.marker import read_marker
from projects.models import Project
from tests.chaos.commands.killing import AWAY, FAULTS, FULL, KILLED, run_until_broken
from tests.config.backup.rows import fill_every_table, photograph
from tests.fakes.smtp import SmtpServer, smtp_server
from tests.mailing import deliver
from tests.sampling import Some

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

CHANGES = {
    "backup": {KILLED: 6, FULL: 2, AWAY: 60},
    "restore": {FULL: 80, AWAY: 100},
}
"""The approximate number of changes: the short version takes one of them."""


Points = Callable[[int], Iterable[int]]


@pytest.fixture
def points(is_long: bool, some: Some) -> Points:
    """Returns the numbers of the changes at which something goes wrong."""
    chance = random.Random(some.seed)
    return lambda number: itertools.count(1) if is_long else [chance.randint(1, number)]


def command(name: str, *arguments: object) -> None:
    call_command(name, *map(str, arguments), stdout=StringIO(), stderr=StringIO())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_backup_is_complete_or_absent(fault: str, folder: Path, points: Points) -> None:
    fill_every_table()
    archive, broken = folder / "a.tar", 0
    command("backup", archive)
    old = archive.read_bytes()
    for at in points(CHANGES["backup"][fault]):
        archive.write_bytes(old)
        if not run_until_broken(lambda: command("backup", archive), at=at, fault=fault):
            break
        broken += 1
        if archive.read_bytes() != old:  # then only the note afterwards is missing
            command("restore", archive, "--replace", "--dry-run")
        if fault != KILLED:
            assert list(folder.iterdir()) == [archive]
    command("backup", archive)
    command("restore", archive, "--replace", "--dry-run")
    assert broken


@pytest.mark.rare(2)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", [FULL, AWAY])
def test_a_restore_leaves_the_old_or_the_new_state(fault: str, folder: Path, points: Points) -> None:
    """Kills are in `test_killed_restores.py`."""
    fill_every_table()
    archive, broken = folder / "a.tar", 0
    command("backup", archive)
    wanted = photograph()
    for at in points(CHANGES["restore"][fault]):
        (folder / "restore.json").unlink(missing_ok=True)
        Project.objects.update(name="of before")
        old = photograph()
        is_broken = run_until_broken(lambda: command("restore", archive, "--replace"), at=at, fault=fault)
        assert photograph() in (old, wanted)
        if not is_broken:
            break
        broken += 1
        command("restore", archive, *([] if read_marker() is not None else ["--replace"]))
        assert photograph() == wanted
    assert broken
    assert (done := read_marker()) is not None
    assert done.finished


@pytest.fixture
def server(settings: Any) -> Iterator[SmtpServer]:
    with smtp_server() as found:
        settings.BERTH_SENDS_MAIL = True
        settings.EMAIL_BACKEND = "config.mail_backend.DeadlineBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", found.port
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        yield found


@pytest.mark.rare(1)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_mail_is_lost_and_a_second_copy_is_recognisable(fault: str, alice: User, server: SmtpServer) -> None:
    """It makes few changes, so each is tried."""
    at = 0
    is_broken = True
    while is_broken:
        at += 1
        OutgoingMail.objects.all().delete()
        server.taken.clear()
        queue_mail(kind=code_alarm.KIND, user_id=alice.pk, facts={"address": "203.0.113.9"})
        is_broken = run_until_broken(deliver, at=at, fault=fault)
        OutgoingMail.objects.filter(state=MailState.WAITING).update(next_try_at=timezone.now())
        assert deliver()
        assert OutgoingMail.objects.get().state == MailState.SENT
        assert len(set(server.ids)) == 1
        assert len(server.ids) <= 2
    assert at > 2
    assert len(server.ids) == 1
