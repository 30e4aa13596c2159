"""Requests that no view answers get a problem document under /api, and a page everywhere else."""

import errno

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404
from django.test import Client

from containers.errors import EngineUnavailableError
from tests.config.http.problems.raising import answer_to

pytestmark = pytest.mark.urls("tests.config.probe_urls")

NO_THREAD = RuntimeError("can't start new thread")


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api/probe/", "/api/%00", "/api/projects/../x"])
def test_an_unknown_path_of_the_api_is_a_404_problem(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


def test_a_host_that_is_not_ours_is_a_400_problem(client: Client) -> None:
    response = client.get("/api/nothing", headers={"host": "evil.example"})
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "status"),
    [(Http404(), 404), (PermissionDenied(), 403), (SuspiciousOperation(), 400), (ZeroDivisionError("internals"), 500)],
)
def test_an_error_of_a_page_is_a_page(client: Client, error: Exception, status: int) -> None:
    response = answer_to(client, error, "/probe")
    assert response.status_code == status
    assert response["Content-Type"].startswith("text/html")
    assert b"internals" not in response.content


@pytest.mark.django_db
def test_a_form_without_its_csrf_token_is_a_403_page() -> None:
    response = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "a", "password": "b"})
    assert (response.status_code, response["Content-Type"]) == (403, "text/html; charset=utf-8")


def test_an_unexpected_error_is_logged_with_its_traceback(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    answer_to(client, ZeroDivisionError("the cause"))
    [record] = [record for record in caplog.records if record.name == "django.request"]
    assert record.exc_info
    assert "the cause" in str(record.exc_info[1])


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), MemoryError(), NO_THREAD])
@pytest.mark.parametrize("path", ["/api/probe", "/probe"])
def test_a_server_out_of_kernel_resources_says_so(
    client: Client, caplog: pytest.LogCaptureFixture, error: Exception, path: str
) -> None:
    """The answer blames neither the engine nor the database, which a library may suspect first."""
    failed = EngineUnavailableError() if path == "/api/probe" else OperationalError("connection is bad")
    failed.__cause__ = error
    response = answer_to(client, failed, path)
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "no more files, memory or threads" in response.content.decode()
    assert not any(record.exc_info for record in caplog.records)
