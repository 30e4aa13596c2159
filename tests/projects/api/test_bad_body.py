"""Bodies that cannot be read. Each gets the right problem document, and changes nothing."""

import gzip
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest

from config.http.request_bodies import ignore_content_type_parameters
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.sending import EVERY, LIMIT, Sender, as_json

pytestmark = [pytest.mark.usefixtures("nothing_comes_of_it"), pytest.mark.one_database]

BROKEN = {
    "nothing but a brace": b"{",
    "cut off": b'{"name": "Har',
    "single quotes": b"{'name': 'Harbour'}",
    "a trailing comma": b'{"name": "Harbour",}',
    "a comment": b'{"name": "Harbour"} // yes',
    "two documents": b"{}{}",
    "a word": b"hello",
    "white space": b"   ",
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"name": Infinity}',
    "-Infinity": b'{"name": {"deep": [-Infinity]}}',
    "a number beyond all floats": b'{"name": 1e400}',
    "a deep number beyond all floats": b'{"name": [[-1e999]]}',
    "an integer of 5,000 digits": b'{"name": %s}' % (b"9" * 5000),
    "a name twice": b'{"name": "Harbour", "name": "Harbour"}',
    "an unknown name twice": b'{"x": 1, "x": 2}',
    "an empty name twice": b'{"": 1, "": 2}',
    "a name twice, once escaped": b'{"name": "Harbour", "n\\u0061me": "Pier"}',
    "half a surrogate pair twice": b'{"\\ud800": 1, "\\ud800": 2}',
    "a name twice inside": b'{"settings": {"model": "a", "model": "b"}}',
    "a name twice in an array": b'{"settings": {"a": [1, {"b": 1, "b": 1}]}}',
    "thousands of names twice": b"{%s}" % b",".join(b'"%d":1' % (number % 3500) for number in range(7000)),
    "invalid UTF-8": b'{"name": "\xff\xfe"}',
    "overlong UTF-8": b'{"name": "\xc0\xaf"}',
    "a raw surrogate": b'{"name": "\xed\xa0\x80"}',
    "latin-1": '{"name": "Hafenkäpt\'n"}'.encode("latin-1"),
    "UTF-16": '{"name": "Harbour"}'.encode("utf-16"),
    "UTF-8 with a mark in front": b"\xef\xbb\xbf{}",
    "a raw NUL": b'{"name": "a\x00b"}',
    "a raw line feed in a string": b'{"name": "a\nb"}',
    "a NUL": b"\x00",
    "33 arrays": b"[" * 33 + b"]" * 33,
    "1,000 arrays": b'{"settings": ' + b"[" * 1000 + b"]" * 1000 + b"}",
    "1,000 objects": b'{"a":' * 1000 + b"1" + b"}" * 1000,
    "30,000 arrays": b"[" * 30_000 + b"]" * 30_000,
    "60,000 open brackets": b"[" * 60_000,
    "XML": b"<name>Harbour</name>",
    "a form": b"name=Harbour&plan=free",
}


@pytest.mark.parametrize("route", EVERY)
def test_a_body_that_is_not_json_is_refused(send: Sender, route: str) -> None:
    for name, content in BROKEN.items():
        answer = send.raw(route, content)
        assert_problem(answer, 400, "invalid")
        assert codes_of(answer) == {(None, "parse_error")}, name


@pytest.mark.parametrize("route", EVERY)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"name": 1, "name": 2}', "One object has the name “name” twice. Send it once."),
        (b'{"\\ud800": 1, "\\ud800": 2}', "One object has the name “?” twice. Send it once."),
        (b'{"a": %s}' % (b"9" * 5000), "A number in the body is too large."),
        (b'{"a": -%s}' % (b"9" * 5000), "A number in the body is too large."),
        (b'{"a": 1e400}', "A number in the body is too large."),
        (b"[" * 33 + b"]" * 33, "The body is nested more than 32 levels deep."),
        (b'{"a": 1,}', "This is not well-formed JSON (line 1, column 9)."),
    ],
)
def test_what_is_wrong_with_the_json_is_said(send: Sender, route: str, content: bytes, said: str) -> None:
    assert [error["detail"] for error in send.raw(route, content).json()["errors"]] == [said]


@pytest.mark.parametrize("route", EVERY)
def test_a_body_that_is_not_an_object_is_refused(send: Sender, route: str) -> None:
    for content in (b"[]", b"[{}]", b'"create"', b"5", b"1.5", b"true", b"false", b"null", b"[" * 32 + b"]" * 32):
        answer = send.raw(route, content)
        assert_problem(answer, 400, "invalid")
        assert codes_of(answer) == {(None, "invalid")}, content


@pytest.mark.parametrize("route", ["create", "validate", "control", "login"])
@pytest.mark.parametrize("content", [b"", b"{}"])
def test_an_empty_body_lacks_its_fields(send: Sender, route: str, content: bytes) -> None:
    answer = send.raw(route, content)
    assert_problem(answer, 400, "invalid")
    assert {code for _, code in codes_of(answer)} == {"required"}


CONTENT_TYPES = [
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data", "text/plain",
    "text/json", "application/xml", "application/yaml", "application/octet-stream", "application/jsonp", "json",
    "application/problem+json", "application/json-patch+json", "application/", ";", "x" * 300, "кириллица",
]  # fmt: skip


@pytest.mark.parametrize("route", EVERY)
def test_another_content_type_is_a_415(send: Sender, route: str) -> None:
    for content_type in CONTENT_TYPES:
        assert_problem(send.raw(route, as_json(send.good(route)), content_type), 415, "unsupported_media_type")


@pytest.mark.parametrize("route", EVERY)
def test_a_body_without_a_content_type_is_a_415(send: Sender, route: str) -> None:
    assert_problem(send.raw(route, as_json(send.good(route)), "", CONTENT_TYPE=""), 415, "unsupported_media_type")


@pytest.mark.parametrize("route", EVERY)
@pytest.mark.parametrize("coding", ["gzip", "GZIP", "deflate", "br", "identity, gzip", "nonsense"])
def test_a_coded_body_is_a_415(send: Sender, route: str, coding: str) -> None:
    """Whether the body is really compressed or not: a client that declares it has a reason."""
    plain = as_json(send.good(route))
    for content in (plain, gzip.compress(plain)):
        answer = send.raw(route, content, HTTP_CONTENT_ENCODING=coding)
        assert_problem(answer, 415, "unsupported_media_type")
        assert "Content-Encoding" in answer.json()["detail"]


CODECS = [
    "latin-1", "utf-16", "hex", "base64", "zlib", "bz2", "rot13", "idna", "undefined", "unicode_escape", "no-such", "",
    "%00", "\u00b2",
]  # fmt: skip
PARAMETERS = [
    "Charset = {}; v=1", "charset*=utf-8''{}", "charset*={}", "charset*0={}", "x*={}''%ff%ff", "x*={}'en'a'b",
    'x="a\\"; charset={}', "boundary*={}''x", "boundary=x; charset*={}''hex",
]  # fmt: skip
"""All ways in which Django reads the name of a codec, including those of RFC 2231."""


@pytest.mark.parametrize("parameter", PARAMETERS)
@pytest.mark.parametrize("media_type", ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_no_codec_that_a_request_names_is_looked_up(parameter: str, media_type: str) -> None:
    """Django reads it before any middleware runs, and would fail on `hex`."""
    for codec in CODECS:
        request = _seen_by_django(f"{media_type}; {parameter.format(codec)}")
        assert (request.encoding, request.content_type, request.GET["a"]) == (None, media_type, "\ufffd"), codec


@pytest.mark.parametrize("boundary", ["x", "----WebKitFormBoundary7MA4YWxk", '"a,b c"', "X ;charset=hex"])
def test_the_boundary_of_a_form_is_read(boundary: str) -> None:
    request = _seen_by_django(f"multipart/form-data; a=b;boundary={boundary}")
    assert request.content_params == {"boundary": boundary.partition(" ;")[0].strip('"')}


def _seen_by_django(content_type: str) -> WSGIRequest:
    requests: list[WSGIRequest] = []

    def django(environ: dict[str, Any], _start_response: Any) -> list[bytes]:
        requests.append(WSGIRequest(environ))
        return []

    environ = {"REQUEST_METHOD": "GET", "QUERY_STRING": "a=%ff", "wsgi.input": BytesIO(), "CONTENT_TYPE": content_type}
    ignore_content_type_parameters(django)(environ, lambda *_: lambda _: None)
    return requests[0]


@pytest.mark.parametrize("route", EVERY)
@pytest.mark.parametrize("charset", ["latin-1", "utf-16", "utf-7", "unicode_escape", "no-such", ""])
def test_json_is_read_as_utf_8_with_any_named_charset(send: Sender, route: str, charset: str) -> None:
    content_type = f"application/json; charset={charset}"
    assert ("ä", "unknown") in codes_of(send.raw(route, '{"ä": 1}'.encode(), content_type))
    assert codes_of(send.raw(route, b'{"\xe4": 1}', content_type)) == {(None, "parse_error")}


@pytest.mark.parametrize("route", EVERY)
@pytest.mark.parametrize("size", [LIMIT + 1, 1_000_000])
def test_a_body_over_64_kib_is_a_413(send: Sender, route: str, size: int) -> None:
    assert_problem(send.raw(route, b" " * (size - 2) + b"{}"), 413, "too_large")


@pytest.mark.parametrize("route", EVERY)
def test_a_body_of_just_64_kib_is_read(send: Sender, route: str) -> None:
    answer = send.raw(route, b'{"x": 1}'.ljust(LIMIT))
    assert ("x", "unknown") in codes_of(answer)
