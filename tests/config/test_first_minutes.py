"""The first minutes: what the start prints, and what a visitor at a wrong address reads."""

import re
from typing import Any

import pytest
from django.test import Client

from config.http.error_handlers import WRONG_ADDRESS
from config.serving import welcome
from config.serving.welcome import PLAIN_HTTP, REACHABLE_NOWHERE, warn_of_plain_http
from tests.paths import ROOT

pytestmark = pytest.mark.one_database


def cells(row: str) -> int:
    return len(re.split(r"(?<!\\)\|", row.strip())) - 2


def test_every_row_of_every_table_has_as_many_cells_as_its_head() -> None:
    checked = 0
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        head: str | None = None
        for line in document.read_text().splitlines():
            if not line.startswith("|"):
                head = None
                continue
            head = head or line
            checked += 1
            assert cells(line) == cells(head), f"{document.name}: {line[:100]}"
    assert checked > 100


@pytest.mark.parametrize("path", ["/", "/sign-in", "/admin/", "/nothing", "/static/berth/berth.css"])
def test_a_request_to_a_wrong_host_is_explained_in_a_sentence(path: str) -> None:
    for host in ("192.0.2.9:8000", "evil.example", "berth.local", "a b", "[::", "x" * 300):
        answer = Client().get(path, headers={"host": host}, REMOTE_ADDR="192.0.2.1")
        text = answer.content.decode()
        assert answer.status_code == 400
        assert WRONG_ADDRESS in text
        assert not any(name in text for name in ("evil.example", "berth.local", "testserver", "localhost"))


def test_a_request_to_a_wrong_host_under_the_api_is_explained() -> None:
    told = Client().get("/api/projects", headers={"host": "192.0.2.9:8000"}).json()
    assert (told["status"], told["code"], told["detail"]) == (400, "invalid", WRONG_ADDRESS)


def test_other_errors_are_answered_as_before() -> None:
    answer = Client().get("/?" + "a=1&" * 1001)
    assert WRONG_ADDRESS not in answer.content.decode()


HTTPS, HERE, THERE = "https://berth.example", "http://localhost:8000", "http://192.0.2.9:8000"


@pytest.mark.parametrize(
    ("host", "url", "warning"),
    [
        ("127.0.0.1", HERE, None), ("::1", "http://[::1]:8000", None), ("localhost", HERE, None),
        ("127.0.0.1", HTTPS, None), ("0.0.0.0", HTTPS, None),
        ("0.0.0.0", THERE, PLAIN_HTTP), ("192.0.2.9", THERE, PLAIN_HTTP), ("::", "http://berth.example", PLAIN_HTTP),
        ("0.0.0.0", HERE, REACHABLE_NOWHERE), ("::", "http://127.0.0.1:8000", REACHABLE_NOWHERE),
        ("127.0.0.1", THERE, PLAIN_HTTP),  # behind a proxy without a certificate
    ],
)  # fmt: skip
def test_the_start_warns_of_plain_http_for_others(settings: Any, host: str, url: str, warning: str | None) -> None:
    settings.BERTH_HOST, settings.BERTH_PUBLIC_URL = host, url
    assert warn_of_plain_http() == warning


@pytest.mark.django_db
def test_the_warning_is_written_before_the_welcome(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.BERTH_HOST, settings.BERTH_PUBLIC_URL = "192.0.2.9", THERE
    monkeypatch.setattr(welcome, "ask_readiness", lambda: {"status": "ok"})
    written: list[str] = []
    welcome.write_welcome(written.append)
    assert written[0] == PLAIN_HTTP
    assert written[1].startswith("\nBerth is ready")
