"""The command line over a real connection: from the first login to the end of an agent."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey, OpenSession, User
from projects.models import Project
from tests.canaries import CANARY_API_KEY, CANARY_PASSWORD, CANARY_TELEGRAM_TOKEN
from tests.config.cli.conftest import Berth
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def secrets(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes values that may not be arguments into a file."""

    def write(name: str, secret: str) -> str:
        (tmp_path / name).write_text(f"{secret}\n")
        return str(tmp_path / name)

    return write


def test_the_main_job(
    berth: Berth, live_server: LiveServer, alice: User, engine: MemoryEngine, secrets: Callable[[str, str], str],
    home: Path,
) -> None:  # fmt: skip
    password = secrets("password", CANARY_PASSWORD)
    signed_in = berth("login", live_server.url, "--email", alice.email, "--password-file", password)
    assert (signed_in.code, signed_in.err) == (0, "")
    assert alice.email in signed_in.out
    kept = home / "berth" / "contexts.json"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not OpenSession.objects.exists()  # the session of the login has ended; its key is still valid

    deployed = berth(
        "deploy", "Harbour pilot", "--plan", "pro", "--set", "instructions=Be brief.",
        "--telegram-token-file", secrets("token", CANARY_TELEGRAM_TOKEN),
        "--api-key-file", secrets("key", CANARY_API_KEY),
    )  # fmt: skip
    project = Project.objects.get()
    assert deployed.code == 0, deployed.err
    assert deployed.out.startswith("Harbour pilot is running: ")
    assert [line.split()[0] for line in deployed.err.splitlines()] == [
        "Checking", "Checked", "Container", "Started", "Polling"
    ]  # fmt: skip
    assert project.settings == {"instructions": "Be brief."}

    listed = berth("list").out.splitlines()
    assert listed[0].split() == ["NAME", "STATUS", "PLAN", "BOT", "AGE", "ID"]
    assert "running" in listed[1]
    assert str(project.pk) in listed[1]
    assert json.loads(berth("status", "harb", "--json").out)["id"] == str(project.pk)
    assert "Processor  1.5 % of a core" in berth("stats", "Harbour pilot").out
    assert berth("usage", str(project.pk)).out.startswith("FROM")
    assert "write" in berth("whoami").out

    engine.log(project.container_name, "All is well.")
    assert berth("logs", "Harb").out.endswith("All is well.\n")
    ended = threading.Timer(0.5, engine.exit, [project.container_name])
    ended.start()
    followed = berth("logs", "-f", "Harb")
    ended.join()
    assert (followed.code, followed.err) == (0, "The log has ended.\n")
    assert followed.out.endswith("All is well.\n")

    stopped = berth("stop", "Harbour pilot")
    assert (stopped.code, stopped.out) == (0, "Harbour pilot is stopped.\n")
    asked = berth("rm", "Harbour pilot")
    assert asked.code == 2
    assert "--yes" in asked.err
    assert berth("rm", "Harbour", "--yes").code == 1  # the beginning of a name deletes nothing
    assert berth("rm", "Harbour pilot", "--yes").out == "It is deleted.\n"
    assert berth("status", str(project.pk)).code == 1
    assert not Project.objects.exclude(desired="deleted").exists()


def test_a_second_login_revokes_the_key_of_the_first(
    berth: Berth, live_server: LiveServer, alice: User, bob: User, secrets: Callable[[str, str], str]
) -> None:
    password = secrets("password", CANARY_PASSWORD)
    for _ in range(2):
        assert berth("login", live_server.url, "--email", alice.email, "--password-file", password).code == 0
    assert ApiKey.objects.unrevoked().count() == 1
    assert berth("list").code == 0
    keys = ("--email", alice.email, "--password-file", password)
    made = berth("keys", "new", "script", "--scope", "read", "--days", "30", *keys)
    assert made.out.startswith("berth_")
    assert berth("keys", "list", *keys).out.count("\n") == 3
    assert berth("keys", "rotate", *keys).code == 0
    assert berth("list").code == 0
    assert berth("logout", "--revoke", *keys).code == 0
    assert berth("list").code == 2
    assert ApiKey.objects.unrevoked().filter(replaced=False).get().name == "script"
    for person in (bob, alice):
        last = berth("login", live_server.url, "--email", person.email, "--password-file", password)
    assert last.err == f"The key that this machine had for {bob.email} works until they revoke it.\n"
