"""Settings of the server: those of chaos with the engine in memory, and with shorter limits for other servers."""

from tests.chaos.database.settings import *  # noqa: F403 - these settings are all of those and a few more

BERTH_OUTSIDE_LIMIT = 1.5
