"""What takes too long for the test command: the same proofs with full counts, and engines that are ended."""

import tests.gateway.rooms  # noqa: F401 - the gateway is found by it
