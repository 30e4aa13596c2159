"""Fixtures of all tests of accounts: the lines of the audit log."""

import logging
from collections.abc import Callable

import pytest

Said = Callable[[], list[str]]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    """The lines of the audit log so far."""
    caplog.set_level(logging.INFO, logger="berth.audit")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "berth.audit"]
