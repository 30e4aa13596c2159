"""Settings of the tests: production's, in a directory that lives as long as the process, with nothing outside asked.

`DATABASE_URL` chooses the database, as in production. No other variable of the machine's own Berth is read.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_home = Path(tempfile.mkdtemp(prefix="berth-tests-"))
atexit.register(shutil.rmtree, _home, ignore_errors=True)
for _name in [name for name in os.environ if name.startswith("BERTH_") and not name.startswith("BERTH_TEST_")]:
    del os.environ[_name]
os.environ["BERTH_DATA_DIR"] = str(_home)
os.environ["BERTH_VERIFY_CREDENTIALS"] = "off"
os.environ["BERTH_ALLOWED_HOSTS"] = "localhost"  # live servers of tests are there, on any port

from config.settings import *  # noqa: E402, F403 - all of them, and they read the environment that is set above
from config.settings import (  # noqa: E402 - the same
    BERTH_LIMITS,
    DATABASES,
    LOGGING,
    MIDDLEWARE,
    PASSWORD_HASHERS,
    STATIC_ROOT,
    STORAGES,
)

BERTH_ENGINE_CLASS = "tests.fakes.engine.MemoryEngine"
BERTH_INSTALLATION_SOURCE = "tests.installations.ours"  # not the database, which most tests of engines do not have

# A file, as in production: an in-memory database has neither WAL nor the locks that come with it.
if DATABASES["default"]["ENGINE"] == "config.database.sqlite":
    DATABASES["default"]["TEST"] = {"NAME": str(_home / "tests.sqlite3")}

# The real hasher takes 50 ms for each password, which is its purpose. Tests of just that put it back.
REAL_PASSWORD_HASHERS = PASSWORD_HASHERS
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *REAL_PASSWORD_HASHERS]

# Nobody is so fast as tests. Those of the limits put them back.
REAL_LIMITS = BERTH_LIMITS
BERTH_LIMITS = {}

EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
STATIC_ROOT.mkdir(exist_ok=True)
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True

# Looks through every answer of the whole suite, and every log line at its lowest level, for the canaries.
MIDDLEWARE = ["tests.canaries.CanaryMiddleware", *MIDDLEWARE]
# pytest keeps the lines of a test that fails. The stream that a handler of our own would write to is closed by then.
LOGGING = {**LOGGING, "root": {"handlers": [], "level": "DEBUG"}}
