"""Keeps the numbers that the engine knows as users of agents from being given a second time.

A restored backup counts on from a lower number than the newest agents have, and so does a database that takes on the
id of another one. What exists on the engine, in quarantine as well, therefore counts before any number is given.
"""

from containers.get_engine import get_engine
from projects.models.agent_user import pass_over


def learn_users() -> None:
    """Asks the engine which numbers are taken. Call it before a transaction, never inside one. Raises `EngineError`."""
    highest = get_engine().highest_user()
    if highest is not None:
        pass_over(highest)
