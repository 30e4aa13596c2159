"""Tests that take too long for the test command: the same proofs with full counts, and tests that end engines."""

import tests.gateway.rooms  # noqa: F401 - the gateway is found by it
