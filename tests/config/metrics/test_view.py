"""/metrics answers only those who may know."""

from typing import Any

import pytest
from django.test import Client

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

TOKEN = "a-token-of-prometheus-0123456789"


def test_a_stranger_finds_nothing_there() -> None:
    client: Any = Client()
    for stranger in ({"REMOTE_ADDR": "203.0.113.9"}, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, {"HTTP_VIA": "1.1 proxy"}):
        for authorization in ({}, {"HTTP_AUTHORIZATION": f"Bearer {TOKEN}"}):
            answer = client.get("/metrics", **stranger, **authorization)
            assert (answer.status_code, answer.content) == (404, b"Not found.\n")


def test_with_a_token_set_only_its_holder_gets_metrics(settings: Any) -> None:
    settings.BERTH_METRICS_TOKEN = TOKEN
    for wrong in ("", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ä", TOKEN):
        answer = Client().get("/metrics", HTTP_AUTHORIZATION=wrong)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')
        assert b"berth" not in answer.content
    for scheme in ("Bearer", "bearer"):
        answer = Client().get("/metrics", HTTP_AUTHORIZATION=f"{scheme} {TOKEN}", REMOTE_ADDR="203.0.113.9")
        assert answer.status_code == 200


def test_behind_trusted_proxies_the_client_counts_and_not_the_proxy(settings: Any) -> None:
    settings.BERTH_TRUSTED_PROXIES = 1
    assert Client().get("/metrics", HTTP_X_FORWARDED_FOR="203.0.113.9").status_code == 404
    assert Client().get("/metrics", HTTP_X_FORWARDED_FOR="127.0.0.1, 203.0.113.9").status_code == 404
    assert Client().get("/metrics").status_code == 200


def test_nothing_else_than_a_read_is_answered() -> None:
    answer = Client(enforce_csrf_checks=True).post("/metrics")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
    assert answer.content.startswith(b"Send another method")
