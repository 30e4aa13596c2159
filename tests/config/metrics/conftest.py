"""As in a process that has answered nothing yet: the other tests of this one have asked for many routes."""

import pytest

from config.metrics import requests


@pytest.fixture(autouse=True, scope="module")
def no_series_of_others() -> None:
    requests._known.clear()
    requests.SECONDS.clear()
