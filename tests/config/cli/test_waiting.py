"""Commands end when what they started has ended, and say how it ended."""

import json
from uuid import UUID

import pytest

from tests.config.cli.conftest import Berth
from tests.config.cli.other_end import PROJECT, PROJECT_ID, OtherEnd, refuse
from tests.fakes.messages import Answer, Request

pytestmark = pytest.mark.one_database


class Harbour(OtherEnd):
    """Its project has these statuses, one after the other; the last one stays."""

    def __init__(self, *statuses: str, **more: object) -> None:
        super().__init__(self._respond)
        self.statuses, self.more = list(statuses), more

    def _respond(self, request: Request) -> Answer | None:
        if request.path.endswith("/events") or request.method == "DELETE":
            return None
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if status == "gone":
            return refuse(404, "not_found", "There is nothing here.")
        if status == "away":
            return Answer(502, b"<html>")
        return Answer.json(201 if request.path == "/api/projects" else 200, {**PROJECT, "status": status, **self.more})


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")


REASON = {"code": "provider_key", "message": "The provider refuses the key."}


@pytest.mark.parametrize(
    ("words", "statuses", "code", "said"),
    [
        (
            "deploy x",
            ["starting", "starting", "running"],
            0,
            "Harbour pilot is running: https://t.me/pilot_bot?start=x",
        ),
        ("deploy x", ["starting", "crashed"], 1, "Harbour pilot is crashed. The provider refuses the key."),
        ("deploy x", ["starting", "degraded"], 1, "Harbour pilot is degraded. The provider refuses the key."),
        ("deploy x --timeout 0.1", ["starting"], 3, "It is still starting after"),
        ("deploy x --timeout 0.1", ["unknown"], 3, "It is still unknown after"),
        ("deploy x --timeout 0.1", ["starting", "away"], 3, "has answered 502"),
        ("deploy x --no-wait", ["starting", "crashed"], 0, "Harbour pilot is starting"),
        ("deploy x", ["starting", "away", "away", "running"], 0, "Harbour pilot is running"),
        ("deploy x", ["starting", "gone"], 1, "There is nothing here."),
        ("start ID", ["starting", "running"], 0, "Harbour pilot is running."),
        ("restart ID", ["restarting", "suspended"], 1, "Harbour pilot is suspended."),
        ("stop ID", ["stopping", "unknown", "stopped"], 0, "Harbour pilot is stopped."),
        ("stop ID --timeout 0.1", ["stopping"], 3, "It is still stopping after"),
        ("change ID --name y --restart", ["running", "starting", "running"], 0, "has been changed and is running."),
    ],
)
def test_a_command_waits_until_everything_is_settled(
    berth: Berth, monkeypatch: pytest.MonkeyPatch, words: str, statuses: list[str], code: int, said: str
) -> None:
    with Harbour(*statuses, status_reason=REASON if code == 1 else None) as harbour:
        monkeypatch.setenv("BERTH_URL", harbour.url)
        done = berth(*words.replace("ID", PROJECT_ID).split())
    assert done.code == code, done
    assert said in (done.out if code == 0 else done.err)


@pytest.mark.parametrize(("outcome", "code"), [("done", 0), ("undone", 1), ("given up", 1), ("failed", 1)])
def test_an_update_reports_its_outcome(berth: Berth, monkeypatch: pytest.MonkeyPatch, outcome: str, code: int) -> None:
    def respond(request: Request) -> Answer | None:
        if request.path.endswith("/events"):
            return Answer.json(200, [{"action": "new image", "outcome": outcome, "detail": "Said why."}])
        updating = {"update_available": True, "updating": request.method == "POST", "pinned": False}
        return Answer.json(202 if request.method == "POST" else 200, {**PROJECT, "image": updating})

    with OtherEnd(respond) as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        done = berth("update", PROJECT_ID)
    assert done.code == code
    assert "Said why." in done.err if code else "has the newest image" in done.out


def test_json_output_is_the_api_s_document_even_for_refusals(berth: Berth, monkeypatch: pytest.MonkeyPatch) -> None:
    with Harbour("running") as harbour:
        monkeypatch.setenv("BERTH_URL", harbour.url)
        assert json.loads(berth("status", PROJECT_ID, "--json").out) == PROJECT
        assert json.loads(berth("deploy", "x", "--json").out) == PROJECT
        harbour.statuses = ["gone"]
        refused = berth("status", PROJECT_ID, "--json")
    assert json.loads(refused.out)["code"] == "not_found"
    assert refused.err == "berth: There is nothing here.\n"


@pytest.mark.parametrize(
    "words",
    ["deploy x", "start ID", "stop ID", "restart ID", "update ID", "rm ID --yes", "change ID --name y --restart"],
)
@pytest.mark.parametrize("then", ["starting", "away"])
def test_an_unsettled_status_is_reported_to_programs_too(
    berth: Berth, monkeypatch: pytest.MonkeyPatch, words: str, then: str
) -> None:
    """In the document of the command itself, if nothing newer is known."""

    def respond(request: Request) -> Answer:
        is_away = then == "away" and request.method == "GET"
        begun = Answer.json(202, {**PROJECT, "status": "starting"})
        return refuse(503, "engine_unavailable", "No engine.") if is_away else begun

    with OtherEnd(respond) as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        done = berth(*words.replace("ID", PROJECT_ID).split(), "--json", "--timeout", "0.05")
    assert done.code == 3, done
    assert json.loads(done.out)["status"] == "starting"


@pytest.mark.parametrize("words", ["rm --yes", "stop", "start", "restart"])
def test_a_refusal_of_one_project_stops_no_other(berth: Berth, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """It says which project was refused, unless there is only one."""
    ids = [str(UUID(int=number)) for number in (1, 2, 3)]
    rows = [{**PROJECT, "id": each, "name": name} for each, name in zip(ids, "abc", strict=True)]

    def respond(request: Request) -> Answer | None:
        if request.path == "/api/projects":
            return Answer.json(200, rows)
        return refuse(409, "conflict", "Not while it moves.") if ids[1] in request.path else None

    with OtherEnd(respond) as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        several, one = (berth(*words.split(), "--no-wait", *named) for named in ("abc", "b"))
    assert (several.code, several.err) == (1, "berth: b: Not while it moves.\n")
    assert several.out.count("\n") == 2
    assert (one.code, one.err) == (1, "berth: Not while it moves.\n")
    commanded = [request.path.split("/")[3] for request in other_end.seen if request.method != "GET"]
    assert commanded == [*ids, ids[1]]


def test_each_unfinished_project_is_named_once(berth: Berth, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {PROJECT_ID: "pilot", str(UUID(int=8)): "other"}
    monkeypatch.setattr("berth_cli.control.find_all", lambda *_, **__: ids)
    with Harbour("crashed") as harbour:
        monkeypatch.setenv("BERTH_URL", harbour.url)
        crashed = berth("start", "pilot", "other")
        harbour.statuses = ["stopping"]
        moving = berth("stop", "pilot", "other", "--timeout", "0")
        harbour.statuses = ["away"]
        away = berth("stop", "pilot", "other")
    assert crashed.err == "berth: Harbour pilot is crashed.\n" * 2
    assert [line.split()[:2] for line in moving.err.splitlines()] == [["berth:", "pilot:"], ["berth:", "other:"]]
    assert moving.code == 3
    assert away.err.startswith("berth: pilot: ")


def test_an_interruption_reports_what_continues(berth: Berth, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("berth_cli.waiting.time.sleep", interrupt)
    with Harbour("starting") as harbour:
        monkeypatch.setenv("BERTH_URL", harbour.url)
        done = berth("deploy", "x")
    assert done.code == 130
    assert f"Interrupted. The deploy continues. `berth status {PROJECT_ID}` shows" in done.err


def test_a_mistake_of_ours_is_a_sentence(berth: Berth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth_cli.reports.write_table", lambda *_: 1 / 0)
    with OtherEnd() as other_end:
        monkeypatch.setenv("BERTH_URL", other_end.url)
        done = berth("list")
    assert done.code == 1
    assert done.err.startswith("berth: this program failed (ZeroDivisionError")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "usage"), ("dance", "invalid choice"), ("status", "required"), ("rm ID", "--yes"),
        ("change ID", "nothing to change"), ("deploy --timeout -1", "invalid"), ("deploy --timeout nan", "invalid"),
        ("deploy x --set y", "--set NAME=TEXT"), ("deploy x --set y:=z", "takes JSON"),
        ("deploy x --telegram-token-file - --api-key-file -", "one of the files"), ("list --jso", "unrecognized"),
        ("deploy x --telegram-token-file /nowhere", "cannot be read"), ("list --context other", "no context"),
        ("login http://berth.example.org", "plain http"), ("login", "no terminal"), ("keys rotate", "Name a key"),
    ],
)  # fmt: skip
def test_wrong_usage_is_2(berth: Berth, monkeypatch: pytest.MonkeyPatch, words: str, said: str) -> None:
    monkeypatch.setenv("BERTH_URL", "http://127.0.0.1:1")
    done = berth(*words.replace("ID", PROJECT_ID).split())
    assert (done.code, done.out) == (2, "")
    assert said in done.err
