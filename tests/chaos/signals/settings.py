"""Settings of the service: those of chaos with an engine in memory that can be blocked."""

from tests.chaos.database.settings import *  # noqa: F403 - these settings are all of those and a few more

BERTH_ENGINE_CLASS = "tests.chaos.signals.engine.HeldEngine"
BERTH_GRACE = 100
