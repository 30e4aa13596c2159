"""Settings of the attacked servers: production's, with the attacker inside (see `tests.chaos.inside`)."""

from config.settings import *  # noqa: F403 - these settings are all of those and a few more
from config.settings import BERTH_LIMITS, INSTALLED_APPS, STORAGES

INSTALLED_APPS = [*INSTALLED_APPS, "tests.chaos.inside.apps.InsideConfig"]
ROOT_URLCONF = "tests.chaos.inside.urls"
BERTH_LIMITS = dict.fromkeys(BERTH_LIMITS, 1_000_000)
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
