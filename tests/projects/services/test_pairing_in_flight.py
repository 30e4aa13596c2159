"""A first pairing link that is created while an operation replaces the container."""

from datetime import timedelta

from projects.models import Project
from projects.models.event import SYSTEM
from projects.rules.pairing import PairingMode
from projects.rules.status.lifecycle import Operation
from projects.services import make_pairing_link


def test_a_container_that_was_begun_before_there_was_a_secret_needs_a_start(project: Project) -> None:
    Project.objects.update(pairing_secret_ciphertext="", pairing_from=0)
    read = Project.objects.get()
    assert Project.objects.get().claim(Operation.RESTART, lasting=timedelta(minutes=1))  # which has begun since
    link = make_pairing_link(project=read, mode=PairingMode.ADD, actor=SYSTEM)
    assert link.needs_start
    assert Project.objects.get().pairing_from == read.generation + 1
