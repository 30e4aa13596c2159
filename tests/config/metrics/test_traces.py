"""Traces contain only words of the program, are sent where OTEL_* says, and cost nothing without it."""

import logging
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
import requests
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rest_framework.test import APIClient

from containers.docker_api.counted_requests import send_counted
from containers.processes import tracing
from tests.deploying import PROJECT, create_project
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


@pytest.fixture(autouse=True)
def no_traces_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing._Tracing, "tracer", None)
    for name in tracing._ASKING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "berth")  # which it sets by itself, for the whole process


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    kept = InMemorySpanExporter()
    tracing._trace_to(SimpleSpanProcessor(kept), "web", version="1.2.3")
    return lambda: list(kept.get_finished_spans())


def ask_engine(url: str, answer: "int | Exception") -> None:
    def send() -> requests.Response:
        if isinstance(answer, Exception):
            raise answer
        found = requests.Response()
        found.status_code = answer
        return found

    try:
        send_counted("POST", url, send)
    except requests.ConnectionError:
        return


@pytest.mark.django_db
def test_traces_name_requests_operations_and_calls_but_no_person(
    api: APIClient, engine: MemoryEngine, spans: Callable[[], list[Any]]
) -> None:
    told_by = {"name": "Telltale", "telegramToken": "123456:" + "T" * 35, "apiKey": "sk-telltale-key-value"}
    project = create_project(api, PROJECT | told_by)
    path = f"/api/projects/{project.pk}"
    api.generic("BREW", path, QUERY_STRING="api_key=sk-telltale-key-value")
    theirs = {"X-Request-ID": "telltale", "User-Agent": "Telltale", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    for gone in (f"/{project.pk}", "/telltale?name=Telltale"):
        api.get(gone, headers=theirs)
    with tracing.span("request"):
        ask_engine(f"http://engine/v1.41/containers/{project.container_name}/start", 204)
        ask_engine("http://telltale/v1.41/containers/create?name=telltale", requests.ConnectionError("telltale"))
    assert api.delete(path).status_code == 204
    told = spans()
    names = {each.name for each in told}
    assert {"POST projects", "DELETE project", "other project", "GET none"} <= names
    assert {"operation deploy", "operation delete", "engine containers start", "engine containers create"} <= names
    by_name = {each.name: each for each in told}
    assert by_name["operation deploy"].parent.span_id == by_name["POST projects"].context.span_id
    assert by_name["engine containers start"].parent.span_id == by_name["request"].context.span_id
    assert by_name["engine containers create"].attributes == {"outcome": "silent"}
    assert by_name["POST projects"].attributes == {"http.status": 201}
    assert {key for each in told for key in each.attributes} == {"http.status", "outcome"}
    whole = " ".join(each.to_json().lower() for each in told)
    for somebodys in ("telltale", str(project.pk), project.pk.hex, project.owner.email, "tttttt", "a" * 32):
        assert somebodys not in whole
    assert not any(each.events for each in told)


def test_an_error_ends_a_span_and_is_not_quoted(spans: Callable[[], list[Any]]) -> None:
    with pytest.raises(ValueError, match="secret"), tracing.span("request"):
        raise ValueError("secret")
    (ended,) = spans()
    assert "secret" not in ended.to_json()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_SERVICE_NAME": "berth"},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
    ],
)
def test_tracing_imports_nothing_unless_enabled(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, module)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    tracing.begin_to_trace("web", version="1")
    tracing.note_span("engine ping", since=0.0)
    with tracing.span("request") as describe:
        describe("GET none", http_status=200)
    assert not [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "group `tracing` is not installed"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "http/protobuf alone"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf alone"),
    ],
)
def test_a_tracing_failure_is_reported_and_ends_nothing(
    environment: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)  # as where it is missing
    tracing.begin_to_trace("web", version="1")
    assert says in caplog.text
    assert tracing._Tracing.tracer is None


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """The collector's address, and what it has received."""
    sent: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()


def test_a_collector_receives_traces(
    collector: tuple[str, list[tuple[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, sent = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    tracing.begin_to_trace("watcher", version="1.2.3")
    with tracing.span("request") as describe:
        describe("GET projects", http_status=200)
    wait_until(lambda: bool(sent), within=30, what="The collector was sent nothing")
    path, body = sent[0]
    assert path == "/v1/traces"
    for word in (b"GET projects", b"http.status", b"1.2.3", b"watcher", b"berth"):
        assert word in body


def test_no_credential_of_the_collector_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither does its library when it cannot read the headers. An address without a scheme is not tried again."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "htpp://collector/v1/traces?api-key=s3cret")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    tracing.begin_to_trace("watcher", version="1")
    tracing.note_span("engine ping", since=0.0)
    wait_until(lambda: bool(caplog.records), within=30, what="Nothing was said")
    logging.getLogger("opentelemetry.util.re").warning("Header format invalid! %s", "api-key s3cret")
    assert [each.getMessage() for each in caplog.records] == [
        "Traces may be missing: the library that sends them complains (InvalidSchema)."
    ]
