"""Empties the counts, as in a process that has answered nothing yet: other tests have requested many routes."""

import pytest

from config.metrics import requests


@pytest.fixture(autouse=True, scope="module")
def no_series_of_others() -> None:
    requests._known.clear()
    requests.SECONDS.clear()
