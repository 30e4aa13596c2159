"""What an answer says when something breaks, and which caches may keep an answer."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from tests.clients import api_of, browser_of
from tests.config import probe_urls
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, every_route

pytestmark = pytest.mark.one_database

SECRET = "canary-of-an-exception-4711"
PUBLIC = {"/api/schema", "/api/docs", "/cli"}
"""The same for everyone."""


@pytest.mark.parametrize(("path", "status"), [("/api/probe", 500), ("/probe", 500), ("/api/none", 404), ("/none", 404)])
@pytest.mark.urls("tests.config.probe_urls")
@pytest.mark.one_database
@pytest.mark.django_db
def test_an_error_reveals_no_internals(path: str, status: int) -> None:
    probe_urls.raised[:] = [ValueError(SECRET)]
    answer = Client(raise_request_exception=False).get(path)
    probe_urls.raised.clear()
    page = answer.content.decode()
    assert answer.status_code == status
    for inside in (
        SECRET,
        "Traceback",
        "ValueError",
        "DJANGO",
        "Exception",
        str(settings.BASE_DIR),
        settings.SECRET_KEY,
    ):
        assert inside not in page
    assert answer["X-Request-ID"]
    assert status == 404 or answer["X-Request-ID"] in page


@pytest.mark.rare(2)
def test_no_private_answer_may_be_stored(service: PopulatedService) -> None:
    visitors: list[Any] = [browser_of(service.admin), browser_of(service.alice), api_of(service.alice)]
    wrong = []
    for route in every_route():
        for number, visitor in enumerate(visitors):
            if route in PUBLIC:
                continue
            answer = visitor.get(address_of(route, service.route_parameters))
            if (answer["Cache-Control"], answer["X-Content-Type-Options"]) != ("no-store", "nosniff"):
                wrong.append((route, number, answer.status_code, dict(answer.headers)))
    assert wrong == []
    for visitor in visitors[:2]:
        assert visitor.get("/settings").status_code == 200, "Somebody signed a visitor out meanwhile."
