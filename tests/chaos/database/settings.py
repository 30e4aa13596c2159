"""Settings of the servers whose database breaks: those of chaos, with the engine in memory."""

from tests.chaos.settings import *  # noqa: F403 - these settings are all of those and a few more

BERTH_ENGINE_CLASS = "tests.chaos.database.engine.TalkativeEngine"
