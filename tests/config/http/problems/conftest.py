"""A client of views that raise what a test says."""

from collections.abc import Iterator

import pytest
from django.test import Client

from tests.config import probe_urls


@pytest.fixture(autouse=True)
def _nothing_raised_yet() -> Iterator[None]:
    yield
    probe_urls.raised.clear()


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)
