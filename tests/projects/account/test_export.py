"""The export of a user's data: complete, without others' data and credentials, and in bounded memory."""

import io
import json
from typing import Any
from zipfile import ZipFile

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import OutgoingMail, User
from accounts.services import still_signed_in
from projects.dashboard import downloads
from projects.models import AlertChannel, AlertDelivery, Event, LongRequest, Project, Sample
from projects.services.account.export import FEW, MOST, NOT_EXPORTED, PIECE, TABLES, columns_of, write_export
from tests import canaries
from tests.clients import api_of, browser_of
from tests.deploying import deploy_project
from tests.factories import ApiKeyFactory
from tests.projects.api.following import hang_up

OWNERS = {"user", "owner", "user_id", "owner_id", "owner_key", "project", "project_id", "subject", "account"}
SECRET = ("ciphertext", "digest", "password", "token", "secret")
TOLD = {
    "own_day_tokens",
    "own_month_tokens",
    "granted_day_tokens",
    "granted_month_tokens",
    "telegram_token_hint",
    "secret_hint",
}
COUNTED = {"day_tokens", "month_tokens"}


def unpack(answer: Any) -> dict[str, list[dict[str, Any]]]:
    content = b"".join(answer.streaming_content)
    hang_up(answer)
    with ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        texts = {name: archive.read(name) for name in archive.namelist() if name.endswith(".jsonl")}
    assert all(canaries.find_canary(text) is None for text in texts.values())
    return {
        name.removesuffix(".jsonl"): [json.loads(line) for line in text.splitlines()] for name, text in texts.items()
    }


def test_the_export_holds_all_of_the_user_s_data_and_nobody_else_s(alice: User, bob: User) -> None:
    mine = deploy_project(api_of(alice))
    theirs = deploy_project(api_of(bob), telegramToken="555:a-free-bot")
    ApiKeyFactory.create(user=alice)
    User.objects.filter(pk=alice.pk).update(notes="a note of the staff")
    Event.objects.create(project_id=mine.pk, owner_id=alice.pk, actor="sam@example.com", source="admin", action="x")
    OutgoingMail.objects.create(user_id=alice.pk, kind="invitation", facts={"by": str(bob.pk)})
    channel = AlertChannel.objects.create(user=alice, way="mail")
    for kind in ("crash", "service"):
        AlertDelivery.objects.create(channel=channel, kind=kind)
    told = unpack(browser_of(alice).post("/settings/export"))
    assert told["user"][0]["email"] == alice.email
    assert [row["facts"] for row in told["outgoingmail"] if row["kind"] == "invitation"] == [{}]
    assert [row["kind"] for row in told["alertdelivery"]] == ["crash"]
    assert [row["id"] for row in told["project"]] == [str(mine.pk)]
    assert {row["actor"] for row in told["event"]} == {alice.email, "staff"}
    assert len(told["apikey"]) == 1
    assert "exports" in [row["scope"] for row in told["usagecounter"]]
    text = json.dumps(told)
    for mark in (str(theirs.pk), bob.email, "sam@example.com", "a note of the staff"):
        assert mark not in text


def test_each_table_with_user_data_is_exported_or_listed_as_left_out(db: None) -> None:
    naming = {
        model._meta.label
        for name in ("accounts", "projects")
        for model in apps.get_app_config(name).get_models()
        if OWNERS & {field.name for field in model._meta.concrete_fields}
    }
    exported = {table.model._meta.label for table in TABLES}
    assert naming <= exported | NOT_EXPORTED.keys()
    assert not exported & NOT_EXPORTED.keys()


def test_no_column_of_a_credential_is_in() -> None:
    suspected = {
        name
        for table in TABLES
        for name in columns_of(table)
        if any(word in name for word in SECRET) and name not in TOLD | COUNTED
    }
    assert suspected == set()


def test_the_export_requires_a_form_and_a_session_and_is_limited(alice: User, bob: User, client: Client) -> None:
    assert browser_of(alice).get("/settings/export").headers["Location"] == "/settings"
    assert client.post("/settings/export").headers["Location"].startswith("/sign-in")
    browser = browser_of(alice)
    for _ in range(MOST):
        unpack(browser.post("/settings/export"))
    assert browser.post("/settings/export").headers["Location"] == "/settings"
    assert "too often within an hour" in browser.get("/settings").content.decode()
    unpack(browser_of(bob).post("/settings/export"))


def test_no_more_than_a_piece_of_a_table_is_read_at_a_time(alice: User) -> None:
    project = deploy_project(api_of(alice))
    Event.objects.bulk_create(
        Event(project_id=project.pk, owner_id=alice.pk, actor="a", source="s", action="stop") for _ in range(2 * PIECE)
    )
    Sample.objects.create(project_id=project.pk, at=project.created_at, cpu=1, memory=2, received=3, sent=4)
    with CaptureQueriesContext(connection) as asked:
        pieces = list(write_export(alice))
    of_events = [query["sql"] for query in asked if 'FROM "projects_event"' in query["sql"]]
    assert len(of_events) == 3
    assert all(query["sql"].endswith((f"LIMIT {PIECE}", f"LIMIT {FEW}")) for query in asked if "LIMIT" in query["sql"])
    with ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.read("event.jsonl").count(b"\n") == 2 * PIECE + Event.objects.exclude(source="s").count()
        assert archive.read("sample.jsonl").count(b"\n") == 1


EDGES = [2**power + by for power in (31, 53, 63, 64, 200) for by in (-1, 0, 1)]
LEAVES = [None, True, False, "", 'ü\u2028\U0001f600\\"\n', 0.5, -1e-9, *EDGES, *(-edge for edge in EDGES)]
VALUES = [*LEAVES, [], {}, LEAVES, {str(place): leaf for place, leaf in enumerate(LEAVES)}, [[{"deep": LEAVES}]]]


def test_settings_may_hold_any_json(alice: User) -> None:
    deploy_project(api_of(alice))
    kept = {str(place): value for place, value in enumerate(VALUES)}
    Project.objects.update(settings=kept)
    with ZipFile(io.BytesIO(b"".join(write_export(alice)))) as archive:
        assert json.loads(archive.read("project.jsonl"))["settings"] == kept


@pytest.mark.parametrize("why", ["signed out", "too slow"])
def test_a_failing_export_breaks_off_before_its_end(alice: User, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setattr(still_signed_in, "ASK_AGAIN_AFTER", 0.0)
    if why == "too slow":
        monkeypatch.setattr(downloads, "WITHIN", 0.0)
    browser = browser_of(alice)
    answer: Any = browser.post("/settings/export")
    assert answer.has_own_thread
    if why == "signed out":
        assert next(answer.streaming_content)
        browser.post("/sign-out")
    with pytest.raises(ConnectionAbortedError):
        b"".join(answer.streaming_content)
    hang_up(answer)
    assert not LongRequest.objects.exists()
