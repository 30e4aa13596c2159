"""The page that describes the API: its examples are valid, its samples work, and it is small and the same for all."""

import ast
import gzip
import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from config.api_docs.page import describe_api
from config.api_docs.samples import Call, write_curl
from tests.config.test_description import operations, schema

pytestmark = pytest.mark.one_database

ADDRESS = "https://berth.example.org"
MOST_BYTES = 85_000
"""Leaves room for more operations below the promised 100 KB."""


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    for _, _, operation in operations():
        answers = (answer for status, answer in operation["responses"].items() if status < "300")
        for told in (operation.get("requestBody", {}), *answers):
            if "application/json" in told.get("content", {}):
                yield operation["operationId"], told["content"]["application/json"]


def described() -> list[dict[str, Any]]:
    groups = describe_api(json.loads(json.dumps(schema(), default=str)), ADDRESS)["groups"]
    return [operation for _, _, found in groups for operation in found]


def test_a_page_has_no_other_body(client: Client) -> None:
    """The framework would describe the view, and the page's renderer would write the names of the context."""
    answer = client.options("/api/docs")
    assert (answer.status_code, answer.content, answer["Allow"]) == (200, b"", "GET, HEAD, OPTIONS")


def test_every_example_matches_its_schema() -> None:
    components = json.loads(json.dumps(schema()["components"], default=str))
    found = 0
    for name, body in bodies():
        found += 1
        told = {**json.loads(json.dumps(body["schema"], default=str)), "components": components}
        faults = [error.message for error in Draft202012Validator(told).iter_errors(body["example"])]
        assert faults == [], name
    assert found > 25


def test_no_example_is_the_name_of_its_own_field() -> None:
    """That is the example of a text that `config/api_docs/examples.py` does not know."""
    for name, body in bodies():
        example = body["example"][0] if isinstance(body["example"], list) else body["example"]
        own = {field for field, value in example.items() if field == value}
        assert own == set(), name


def test_every_operation_has_a_summary_of_a_line() -> None:
    for _, _, operation in operations():
        assert 5 < len(operation["summary"]) <= 100, operation["operationId"]
        assert not operation["summary"].endswith(".")


def test_every_operation_has_a_sample_in_each_language_that_holds_its_body() -> None:
    bodies = {each["operationId"]: each.get("requestBody") for _, _, each in operations()}
    for operation in described():
        samples = dict(operation["samples"])
        assert list(samples) == ["curl", "Python", "JavaScript"]
        plain = {
            each: text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for each, text in samples.items()
        }
        words = shlex.split(plain["curl"])
        assert any(word.startswith(ADDRESS) and "{" not in word for word in words)
        body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
        told = bodies[operation["name"]]
        assert body == (told["content"]["application/json"]["example"] if told else None)
        ast.parse(plain["Python"])
        assert all(("BERTH_TOKEN" in text) == operation["takes_token"] for text in plain.values())


def test_curl_samples_are_quoted_for_a_shell() -> None:
    body = {"name": 'it\'s; $(rm -rf /) `x` \\ & | "quoted"'}
    words = shlex.split(write_curl(Call("POST", f"{ADDRESS}/api/x?a=1&b=2", takes_token=False, body=body)))
    assert words[:4] == ["curl", "-s", "-X", "POST"]
    assert words[4] == f"{ADDRESS}/api/x?a=1&b=2"
    assert json.loads(words[-1]) == body


@pytest.mark.django_db
def test_the_page_is_light_shows_all_and_asks_for_no_cookie(client: Client) -> None:
    answer = client.get("/api/docs")
    page = answer.content.decode()
    assert len(answer.content) < MOST_BYTES
    for path, method, operation in operations():
        assert f'data-operation="{method.upper()} {path}"' in page
        assert f'id="{operation["operationId"]}"' in page
    assert not answer.cookies
    assert "Cookie" not in answer.get("Vary", "")
    assert "public" in answer["Cache-Control"]
    packed = client.get("/api/docs", headers={"accept-encoding": "gzip"})
    assert gzip.decompress(packed.content) == answer.content
    assert len(packed.content) < MOST_BYTES / 4
    assert client.post("/api/docs").status_code == 405
