"""Production's settings without the limits for each user, and with a stub image's type and a roomy plan to choose."""

from config.settings import *  # noqa: F403 - these settings are all of those and a few more

BERTH_LIMITS = {}
