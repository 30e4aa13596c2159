"""Requests to the engine are counted under few names, no matter how containers and images are named."""

import pytest
import requests

from containers.docker_api.counted_requests import REQUESTS, name_outcome, name_verb, send_counted

V = "http+docker://localhost/v1.41"


@pytest.mark.parametrize(
    ("method", "url", "verb"),
    [
        ("GET", f"{V}/containers/json", "containers list"),
        ("GET", f"{V}/containers/start/json", "containers inspect"),
        ("POST", f"{V}/containers/abc/start", "containers start"),
        ("POST", f"{V}/containers/create?name=stop", "containers create"),
        ("DELETE", f"{V}/volumes/start", "volumes remove"),
        ("GET", f"{V}/images/a/b:tag/json", "images inspect"),
        ("GET", f"{V}/networks", "networks list"),
        ("GET", f"{V}/networks/abc", "networks inspect"),
        ("GET", "http://engine:2375/_ping", "ping"),
        ("GET", "http://engine:2375/version", "version"),
        ("POST", f"{V}/build?t=x", "build"),
        ("GET", f"{V}/../../etc/passwd", "other"),
        ("GET", f"{V}/somebody", "other"),
    ],
)
def test_a_request_has_a_name(method: str, url: str, verb: str) -> None:
    assert name_verb(method, url) == verb


def test_each_answer_counts_as_one_of_few_outcomes() -> None:
    statuses = {200: "done", 304: "done", 400: "refused", 404: "missing", 409: "conflict", 500: "failed", 503: "failed"}
    assert {status: name_outcome(status) for status in statuses} == statuses


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(requests.ConnectionError(), "silent"), (requests.ReadTimeout(), "late"), (OSError(), "silent")],
)
def test_a_request_without_an_answer_counts_and_raises(error: Exception, outcome: str) -> None:
    def send() -> requests.Response:
        raise error

    series = REQUESTS.labels("ping", outcome)
    before = series._value.get()
    with pytest.raises(type(error)):
        send_counted("GET", f"{V}/_ping", send)
    assert series._value.get() == before + 1
