"""As in a process that has answered nothing yet: the other tests of this one have asked for many routes."""

import pytest

from config.metrics import requests


@pytest.fixture(autouse=True)
def no_series_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_known", {})
