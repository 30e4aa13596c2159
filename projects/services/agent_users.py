"""Keeps the numbers that the engine knows as users of agents from being given a second time.

A restored backup counts on from a lower number than the newest agents have, and so does a database that takes on the
id of another one. So do two installations on one engine that were told the same `BERTH_UID_BASE`. What exists on the
engine, in quarantine as well, therefore counts before any number is given.
"""

from django.conf import settings

from containers.get_engine import get_engine
from containers.identity import installation_id
from projects.models.agent_user import BLOCK, base_of, pass_over


def learn_users() -> None:
    """Asks the engine which numbers are taken. Call it before a transaction, never inside one. Raises `EngineError`."""
    base = settings.BERTH_UID_BASE or base_of(installation_id())
    highest = get_engine().highest_user(block=range(base, base + BLOCK))
    if highest is not None:
        pass_over(highest)
