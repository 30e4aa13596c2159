"""Prevents user ids that agents on the engine already have from being given out again.

A restored backup continues from a lower number than the newest agents have; so does a database that takes over the id
of another one. Two installations on one engine may also have the same `BERTH_UID_BASE`. Therefore Berth asks the engine
which numbers exist there, also in quarantine, before it gives out a number.
"""

from django.conf import settings

from containers.get_engine import get_engine
from containers.identity import installation_id
from projects.models import Project
from projects.models.agent_user import BLOCK, base_of, pass_over


def ensure_user(project: Project, *, is_new: bool) -> None:
    """Gives a user to a project that was last deployed when all agents had the same. A project that `is_new` gets
    another one if the engine already has its own. Raises `EngineError` and `ProjectGoneError`.
    """
    while project.uid is None or (is_new and get_engine().has_user(project.uid)):
        learn_users()
        project.change_uid()


def learn_users() -> None:
    """Asks the engine which numbers are taken. Call it before a transaction, never inside one. Raises `EngineError`."""
    base = settings.BERTH_UID_BASE or base_of(installation_id())
    highest = get_engine().highest_user(block=range(base, base + BLOCK))
    if highest is not None:
        pass_over(highest)
