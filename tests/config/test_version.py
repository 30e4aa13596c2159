"""The version: one number, shown to operators and staff, and to no stranger."""

import re
import socket
import subprocess
import sys
import threading
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import User
from containers.outbound.call_limits import time_limit
from projects.credentials.http_client import ask
from tests.clients import browser_of
from tests.fakes.raw_http import as_answer, read_request
from tests.paths import ROOT

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
HEADING = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (unreleased|\d{4}-\d{2}-\d{2})$", re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.one_database
@pytest.mark.parametrize("word", ["version", "--version"])
def test_the_command_line_shows_the_version_without_configuration(word: str) -> None:
    environment = {"BERTH_PORT": "none", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "manage.py", word]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"Berth {VERSION}\n")


@pytest.mark.parametrize(
    ("address", "proxies", "forwarded", "expected"),
    [
        ("127.0.0.1", 0, "", VERSION),
        ("::1", 0, "", VERSION),
        ("", 0, "", VERSION),
        ("203.0.113.7", 0, "", None),
        ("203.0.113.7", 0, "127.0.0.1", None),
        ("127.0.0.1", 1, "203.0.113.7", None),
    ],
)
def test_a_health_check_shows_the_version_on_this_machine_only(
    client: Client, settings: Any, address: str, proxies: int, forwarded: str, expected: str | None
) -> None:
    settings.BERTH_TRUSTED_PROXIES = proxies
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    answer = client.get("/healthz", REMOTE_ADDR=address, headers=headers)
    assert (answer.status_code, answer.headers.get("X-Berth-Version")) == (200, expected)


@pytest.mark.django_db
def test_pages_show_the_version_to_staff(alice: User, sam: User, client: Client) -> None:
    page = reverse("accounts:settings")
    assert f"Berth {VERSION}" in browser_of(sam).get(page).content.decode()
    assert VERSION not in browser_of(alice).get(page).content.decode()
    assert VERSION not in client.get(reverse("accounts:sign-in")).content.decode()
    assert f"Berth {VERSION}" in browser_of(sam).get(reverse("admin:index")).content.decode()


@pytest.mark.one_database
def test_outside_requests_carry_a_user_agent() -> None:
    heard: list[bytes] = []

    def answer_once() -> None:
        connection, _ = listener.accept()
        with connection:
            heard.append(read_request(connection))
            connection.sendall(as_answer("200", b"{}"))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer_once)
        server.start()
        with time_limit(30):
            assert ask(f"http://127.0.0.1:{listener.getsockname()[1]}/bot1:x/getMe").is_success
        server.join()
    assert f"\r\nUser-Agent: Berth/{VERSION}\r\n".encode() in heard[0]


def test_every_place_has_the_same_number() -> None:
    assert settings.BERTH_VERSION == VERSION
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    assert [each["version"] for each in lock["package"] if each["name"] == "berth"] == [VERSION]
    label = re.findall(r'org\.opencontainers\.image\.version="([^"]*)"', (ROOT / "Dockerfile").read_text())
    assert label == [VERSION] * 2  # of the service, and of the proxy in front of its engine


def test_the_changelog_follows_keep_a_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = HEADING.findall(text)
    assert len(headings) == text.count("\n## ")
    assert headings[0][0] == VERSION
    numbers = [tuple(map(int, number.split("."))) for number, _ in headings]
    assert all(later > earlier for later, earlier in pairwise(numbers))
    assert all(date != "unreleased" for _, date in headings[1:])
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= KINDS


def test_the_changelog_has_every_release() -> None:
    released = tomllib.loads(Path(ROOT / "tests/upgrade/releases.toml").read_text())["release"]
    headings = HEADING.findall((ROOT / "CHANGELOG.md").read_text())
    dated = [(number, date) for number, date in headings if date != "unreleased"]
    assert [(each["version"], each["date"].isoformat()) for each in released] == dated
