"""Settings of the fuzzed server: production's, with an engine in memory and limits that a fuzzer does not reach.

Its environment is made by `tests.security.fuzzing.run`.
"""

import os

from config.settings import *  # noqa: F403 - these settings are all of those and a few more

BERTH_ENGINE_CLASS = f"tests.security.fuzzing.engines.{os.environ['BERTH_TEST_ENGINE']}"
BERTH_LIMITS = dict.fromkeys(("reads", "commands", "deploys"), 10**7)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
