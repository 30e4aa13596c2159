"""The description of the API in a process that has just started and gets many requests at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock
from typing import Any
from unittest.mock import patch

import pytest
from django.test import RequestFactory
from drf_spectacular.generators import SchemaGenerator

from config.api_docs import description, page
from config.api_docs.page import DocsView
from config.api_docs.schema_view import SchemaView

pytestmark = pytest.mark.one_database

CLIENTS = 8


@pytest.mark.parametrize("views", [[SchemaView], [DocsView], [SchemaView, DocsView]])
def test_simultaneous_requests_are_answered_and_the_schema_is_built_once(views: list[Any]) -> None:
    """The generator loads its extensions at its first run, and fails if two threads do so at once."""
    description._make.cache_clear()
    page._render.cache_clear()
    generate: Any = SchemaGenerator.get_schema
    makes: list[None] = []
    alone, barrier = Lock(), Barrier(CLIENTS)

    def make(*args: Any, **options: Any) -> Any:
        assert alone.acquire(blocking=False), "Two threads make it at once."
        try:
            makes.append(None)
            return generate(*args, **options)
        finally:
            alone.release()

    def ask(number: int) -> int:
        barrier.wait(60)
        answer = views[number % len(views)].as_view()(RequestFactory().get("/", headers={"host": "localhost"}))
        return int(answer.status_code)

    with patch.object(SchemaGenerator, "get_schema", make), ThreadPoolExecutor(CLIENTS) as clients:
        assert set(clients.map(ask, range(CLIENTS))) == {200}
    assert len(makes) == 1
