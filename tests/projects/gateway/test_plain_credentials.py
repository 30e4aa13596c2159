"""Credentials of servers that an older version stored in plain text during a migration are encrypted."""

from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Gateway, Project
from projects.services.credentials.plaintext import encrypt_plain
from projects.services.gateway import entry as gateway_entry
from projects.services.gateway.entry import digest_settings
from projects.watcher.gateway import plain_credentials
from projects.watcher.gateway.plain_credentials import PlainCredentials
from tests.canaries import CANARY_OF_SERVER, find_canary
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of, tell_what_it_missed

pytestmark = pytest.mark.django_db
MCP, SEARCH = "https://tools.example/mcp", "https://search.example/find"
STAND_IN = f"********{CANARY_OF_SERVER[-4:]}"


@pytest.fixture
def plain(deploy: Callable[..., Project]) -> Project:
    """With one encrypted credential, one in plain text, and an invalid line."""
    project = deploy(settings={"mcp": [MCP], "search_url": SEARCH, "server_credentials": [f"{MCP} {CANARY_OF_SERVER}"]})
    lines = [*project.settings["server_credentials"], f"{SEARCH} X-Key: {CANARY_OF_SERVER}", f"{CANARY_OF_SERVER} x"]
    Project.objects.update(settings={**project.settings, "server_credentials": lines})
    return project


def test_a_plain_text_credential_is_encrypted_and_reported(
    engine: MemoryEngine, plain: Project, caplog: pytest.LogCaptureFixture
) -> None:
    before = plain.decrypt_servers().virtual
    assert encrypt_plain() is None
    plain.refresh_from_db()
    assert plain.settings["server_credentials"] == [f"{MCP} {STAND_IN}", f"{SEARCH} {STAND_IN}"]
    assert find_canary(str(plain.settings)) is None
    assert plain.decrypt_servers() == (before, {MCP: CANARY_OF_SERVER, SEARCH: f"X-Key: {CANARY_OF_SERVER}"})
    assert find_canary(caplog.text) is None
    tell_what_it_missed(engine)
    told = entry_of(engine, plain)["servers"]["by_id"].values()
    assert {server["base"] for server in told} == {MCP, SEARCH}
    version = Project.objects.get().entry_version
    assert encrypt_plain() is None
    plain.refresh_from_db()
    assert plain.entry_version == version, "nothing is left to do"


def test_without_the_gateway_a_plain_text_credential_is_removed(plain: Project, settings: Any) -> None:
    settings.BERTH_GATEWAY = False
    encrypt_plain()
    plain.refresh_from_db()
    assert plain.settings["server_credentials"] == [f"{MCP} {STAND_IN}"]
    assert set(plain.decrypt_servers().credentials) == {MCP}


def test_an_unreadable_entry_stays_unchanged(plain: Project) -> None:
    Project.objects.update(server_credentials_ciphertext="none of ours")
    encrypt_plain()
    assert len(Project.objects.get().settings["server_credentials"]) == 3


def test_a_new_watcher_goes_through_all_rows_twice_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    answers: list[Any] = [OSError(CANARY_OF_SERVER), "one", None, None]

    def seal(*, after: object) -> object:
        asked.append(after)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(plain_credentials, "encrypt_plain", seal)
    plain = PlainCredentials()
    plain.step()
    plain.step()
    assert asked == [None], "the next attempt waits"
    for _ in range(6):
        plain._next_at = 0.0
        plain.step()
    assert asked == [None, None, "one", None]


def test_rows_are_looked_through_in_parts(deploy: Callable[..., Project], monkeypatch: pytest.MonkeyPatch) -> None:
    first = deploy(settings={})
    monkeypatch.setattr("projects.services.credentials.plaintext.AT_ONCE", 1)
    assert encrypt_plain() == first.pk
    assert encrypt_plain(after=first.pk) is None


def test_entries_of_another_format_are_sent_again(
    engine: MemoryEngine, plain: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_entry, "FORMAT", gateway_entry.FORMAT - 1)
    tell_what_it_missed(engine)
    monkeypatch.undo()
    assert Gateway.objects.get().told_digest != digest_settings(knows_sources=True)
    assert tell_what_it_missed(engine) == 1
