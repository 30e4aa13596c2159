"""Request bodies: limited on every path, and no file is stored."""

import tempfile
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory

from tests.security.routes import address_of, every_route

pytestmark = pytest.mark.one_database

LIMIT = 64 * 1024
MULTIPART = "multipart/form-data; boundary=b"
ROUTES = [*every_route(), "/nothing"]


@pytest.mark.rare(1)
@pytest.mark.django_db
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_a_body_over_the_limit_is_a_413_everywhere(client: Client, method: str) -> None:
    wrong = []
    for route in ROUTES:
        answer = client.generic(method, address_of(route, {}), b"x" * (LIMIT + 1), content_type=MULTIPART)
        if answer.status_code != 413 or "default-src" not in answer["Content-Security-Policy"]:
            wrong.append((route, answer.status_code))
    assert wrong == []
    assert len(ROUTES) > 100


@pytest.mark.django_db
@pytest.mark.parametrize("length", ["400000000", str(10**30)])
def test_no_part_of_a_refused_body_is_read(client: Client, length: str) -> None:
    class Unreadable:
        def read(self, *_: object) -> bytes:
            raise AssertionError

        readline = read

    extra: dict[str, Any] = {"CONTENT_LENGTH": length, "wsgi.input": Unreadable()}
    answer = client.generic("POST", "/sign-in", content_type=MULTIPART, **extra)
    assert answer.status_code == 413


def test_a_file_within_the_limit_is_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    for name in ("NamedTemporaryFile", "TemporaryFile", "mkstemp"):
        monkeypatch.setattr(tempfile, name, refuse)
    file = SimpleUploadedFile("large.bin", b"x" * (LIMIT - 2000))
    request = RequestFactory().post("/sign-in", {"email": "alice@example.com", "file": file})
    assert request.POST["email"] == "alice@example.com"
    assert not request.FILES
    assert settings.FILE_UPLOAD_HANDLERS == []
