"""Sends the same request again."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.fakes.engine import MemoryEngine
from tests.projects.api.idempotency.records import KEY


@pytest.fixture
def create(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> Callable[..., Any]:
    """Posts the valid request with the key; fields change its body."""

    def post(*, client: APIClient = api, key: str = KEY, **fields: Any) -> Any:
        return client.post("/api/projects", body | {"plan": "pro"} | fields, headers={"idempotency-key": key})

    return post
