"""Text that agents print stays text: each kind of character that hides something, on each way to people.

An agent can write such a character as it is, or as an escape of JSON, which stays harmless until something decodes it.
"""

import html
import json
from collections.abc import Callable
from typing import Any

import pytest

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
from containers.agent_reports import parse_report
from projects.models import Project, Quarantined
from projects.services.gateway.provisioning import ensure_gateway
from projects.services.reports.logs import read_last_lines
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.clients import api_of, browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import hang_up
from tests.projects.gateway.counting import this_hour
from tests.security.populated_service import PopulatedService

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

KINDS = {
    "half of a surrogate pair": "\ud83d",
    "an escape sequence": "\x1b[31m",
    "an 8-bit escape sequence": "\x9b31m",
    "a window's title": "\x1b]0;x\x07",
    "NUL": "\x00",
    "a bell": "\x07",
    "a backspace": "\b",
    "a carriage return": "\r",
    "a line break": "\n",
    "a next line": "\x85",
    "a line separator": "\u2028",
    "an override of direction": "\u202e",
    "an isolate": "\u2066",
    "a zero-width space": "\u200b",
    "a zero-width joiner": "\u200d",
    "a byte order mark": "\ufeff",
    "a soft hyphen": "\xad",
    "a Hangul filler": "\u3164",
    "a variation selector": "\ufe0f",
    "a tag": "\U000e0041",
    "a private character": "\ue000",
}
WORD = "harbour"
Read = Callable[[PopulatedService], str]


def say(service: PopulatedService, kind: str) -> None:
    """Lets the agent say a word with this in its middle in every way: in its log, as a model, as its last report."""
    engine, project = service.engine, service.project
    name, word = project.container_name, f"{WORD[:4]}{kind}{WORD[4:]}"
    plain = word.encode("utf-8", "replace").decode()
    for line in (
        plain,
        json.dumps({"level": "info", "message": word}),
        json.dumps({"level": "info", "message": "a value", "value": word}),
        json.dumps({"level": "info", "message": "a name", word: 1}),
        json.dumps({"level": "info", "message": "a list", "value": [word, {word: [word]}]}),
        "AGENT-STATUS " + json.dumps({"v": 1, "state": "degraded", "code": word, "detail": word}),
    ):
        engine.log(name, line)
    engine.gateway_program.use(str(project.pk), model=plain, hour=this_hour(), input=1, requests=1)
    look_after_gateway()
    report = parse_report(json.dumps({"v": 1, "state": "failed", "code": "provider_key", "detail": word}))
    assert report is not None
    engine.report(name, report.state, report.code, report.detail)


def get(path: str, *, by: str = "alice", api: bool = False, part: str = "") -> Read:
    """Returns a reader of the answer to a GET. JSON is read as a client does."""

    def read(service: PopulatedService) -> str:
        user = getattr(service, by)
        client: Any = api_of(user) if api else browser_of(user)
        answer = client.get(path.format(service.project.pk))
        assert answer.status_code == 200, path
        if answer.streaming:
            content = b"".join(answer.streaming_content).decode()
            hang_up(answer)
        else:
            content = answer.content.decode()
        return told(content, answer["Content-Type"])

    return read


def told(content: str, kind: str) -> str:
    if kind.startswith("application/json"):
        return words_of(json.loads(content))
    if kind.startswith("text/event-stream"):
        datas = [line.removeprefix("data: ") for line in content.splitlines() if line.startswith("data: ")]
        return "\n".join(words_of(json.loads(data)) if data.startswith("{") else data for data in datas)
    return html.unescape(content) if kind.startswith("text/html") else content


def words_of(value: Any) -> str:
    """Returns all names and texts of a document."""
    if isinstance(value, dict):
        return "\n".join(f"{name}\n{words_of(inner)}" for name, inner in value.items())
    return "\n".join(map(words_of, value)) if isinstance(value, list) else str(value)


def refused_button(service: PopulatedService) -> str:
    answer = browser_of(service.alice).post(f"/projects/{service.project.pk}/control", {"action": "nonsense"})
    assert answer.status_code == 400
    return told(answer.content.decode(), "text/html")


def kept_lines(service: PopulatedService) -> str:
    key = service.project.container_key
    Quarantined.objects.update(log=read_last_lines(key, secrets=[]))
    return get(f"/admin/projects/quarantined/{Quarantined.objects.get().pk}/change/", by="admin")(service)


WHILE_IT_RUNS: dict[str, Read] = {
    "the project's page": get("/projects/{}"),
    "the log of a refreshed page": get("/projects/{}/changes?log=1"),
    "the page after a refused button": refused_button,
    "the downloaded log": get("/projects/{}/log.txt"),
    "the page of its usage": get("/projects/{}/usage"),
    "its usage as CSV": get("/projects/{}/usage.csv"),
    "its usage in the API": get("/api/projects/{}/usage", api=True),
    "the log in the API": get("/api/projects/{}/logs", api=True),
    "the log in the admin": get("/admin/projects/project/{}/log/", by="admin"),
    "new lines in the admin": get("/admin/projects/project/{}/log/news/", by="admin"),
    "the agent in quarantine": kept_lines,
}
AFTER_ITS_END: dict[str, Read] = {
    "the project's page": get("/projects/{}"),
    "the followed log of a page": get("/projects/{}/log"),
    "the followed log in the API": get("/api/projects/{}/logs?follow=true", api=True),
    "the project in the API": get("/api/projects/{}", api=True),
    "the project in the admin": get("/admin/projects/project/{}/change/", by="admin"),
}


@pytest.fixture
def service(engine: MemoryEngine, settings: Any) -> PopulatedService:
    settings.BERTH_GATEWAY = True
    service = PopulatedService.make(engine)
    ensure_gateway()
    return service


def check(found: str, kind: str) -> None:
    assert WORD[:4] in found
    assert f"{WORD[:4]}{kind}" not in found
    assert not set(kind) - set("\r\n[]0;31mx") & set(found)


@pytest.mark.parametrize("sink", WHILE_IT_RUNS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_character_that_hides_something_leaves_a_running_agent(
    service: PopulatedService, kind: str, sink: str
) -> None:
    say(service, KINDS[kind])
    check(WHILE_IT_RUNS[sink](service), KINDS[kind])


@pytest.mark.parametrize("sink", AFTER_ITS_END)
@pytest.mark.parametrize("kind", KINDS)
def test_or_one_that_has_ended(service: PopulatedService, kind: str, sink: str) -> None:
    say(service, KINDS[kind])
    service.engine.exit(service.project.container_name, 30)
    reconcile()
    assert Project.objects.get(pk=service.project.pk).log_tail
    check(AFTER_ITS_END[sink](service), KINDS[kind])
