"""Tests that take too long for the test command: the same proofs with full counts, and tests that end engines."""

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
