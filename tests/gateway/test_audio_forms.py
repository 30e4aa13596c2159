"""A form is read as every server reads it, or refused."""

import io
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from gateway.entries.entry import Entry
from gateway.providers.audio_forms import MAX_HEAD, MAX_PARTS, Form, read_form
from gateway.providers.reading import read_call
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why
from urllib3 import encode_multipart_formdata

pytestmark = pytest.mark.one_database

TYPE = "multipart/form-data; boundary=x"
FILE = ("content-disposition: form-data; name=file; filename=a.ogg", b"Ogg\r\n--\r\nS\r\n\r\n-")


def write(*fields: tuple[str, bytes]) -> bytes:
    return b"".join(f"--x\r\n{head}\r\n\r\n".encode() + value + b"\r\n" for head, value in fields) + b"--x--\r\n"


def named(parameters: str, value: bytes = b"m", more: str = "") -> tuple[str, bytes]:
    return f"Content-Disposition: form-data; {parameters}{more}", value


def by_httpx() -> tuple[str, bytes]:
    files = {"file": ('ä "b".ogg', io.BytesIO(FILE[1]), "audio/ogg")}
    sent = httpx.Request("POST", "http://a", data={"model": "m", "include[]": ["logprobs"]}, files=files)
    return sent.headers["Content-Type"], sent.read()


def by_urllib3() -> tuple[str, bytes]:
    body, kind = encode_multipart_formdata({"file": ("a.ogg", FILE[1]), "model": "m"})
    return kind, body


def by(content_type: str, *fields: tuple[str, bytes]) -> Callable[[], tuple[str, bytes]]:
    return lambda: (content_type, write(FILE, *fields))


TEXT = "\r\nContent-Type: text/plain; charset=utf-8"
CLIENTS = {
    "httpx": by_httpx,
    "urllib3": by_urllib3,
    "undici": by(TYPE, named('name="model"')),
    ".NET": by(
        'multipart/form-data; boundary="x"',
        ("Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model", b"m"),
        named("name=f; filename=a.ogg; filename*=utf-8''a.ogg"),
    ),
    "OkHttp": by(TYPE, named('name="model"', more="\r\nContent-Length: 1")),
    "Apache": by(TYPE, named('name="model"', more=f"{TEXT}\r\nContent-Transfer-Encoding: 8bit")),
    "a browser": by(
        TYPE,
        named('name="model"'),
        named('name="x"; filename="a b.webm"', more="\r\nContent-Type: audio/webm;codecs=opus"),
    ),
    "with a character set": by("multipart/form-data; charset=utf-8; boundary=x", named('name="model"')),
}  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
def test_the_form_of_a_common_client_is_read(client: str) -> None:
    form = read_form(*CLIENTS[client]())
    assert form.model == "m"
    assert form.names >= {"model", "file"}


MODEL = named('name="model"')
ODD = {
    "two models": write(MODEL, MODEL),
    "none": write(FILE),
    "another case": write(named('name="Model"')),
    "two cases": write(MODEL, named('name="MODEL"')),
    "a list": write(named('name="model[]"')),
    "also a list": write(MODEL, named('name="model[0]"')),
    "a file": write(named('name="model"; filename="a"')),
    "not ASCII": write(named('name="model"', "\u00e4".encode())),
    "two names": write(named('name="model"; name="user"')),
    "a name in another parameter": write(
        named('name="model"; x="; name=prompt"'), named('name="user"; x="; name=model"')
    ),
    "a second disposition": write(named('name="model"', more='\r\nContent-Disposition: form-data; name="user"')),
    "an encoded name": write(MODEL, named("name*=utf-8''model")),
    "an escaped name": write(MODEL, named('name="mo\\del"')),
    "quotes of another kind": write(MODEL, named("name='model'")),
    "spaces around the sign": write(MODEL, named('name = "model"')),
    "no name": write(MODEL, named('filename="a"')),
    "an escaped quote": write(MODEL, named('name="f"; filename="a\\"; name=\\"model"')),
    "a folded header": write(MODEL, named('name="f";\r\n name="model"')),
    "a bare line feed": write(MODEL, named('name="f"\nX: y')),
    "an encoded value": write(named('name="model"', b"bQ==", "\r\nContent-Transfer-Encoding: base64")),
    "another character set": write(named('name="model"', b"+AG0-", "\r\nContent-Type: text/plain; charset=utf-7")),
    "an unknown header": write(named('name="model"', more="\r\nX: y")),
    "a long header": write(MODEL, named(f'name="f"; filename="{"a" * MAX_HEAD}"')),
    "no end": write(MODEL).removesuffix(b"--\r\n"),
    "something before": b"a\r\n" + write(MODEL),
    "something behind": write(MODEL) + b"a",
    "an end in the middle": write(MODEL).replace(b"--x--", b"--x--\r\n--x--"),
    "a boundary within a line": write(named('name="model"', b"m --x m")),
    "a boundary after a line feed": write(named('name="f"', b"a\n--x\r\nb"), MODEL),
    "spaces after a boundary": write(MODEL).replace(b"--x\r", b"--x \r"),
    "no line between": b'--x\r\nContent-Disposition: form-data; name="model"\r\n--x--\r\n',
    "one line for two": b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\n--x--\r\n',
    "many fields": write(MODEL, *[FILE] * MAX_PARTS),
    "nothing": b"",
}


@pytest.mark.parametrize("form", ODD)
def test_a_form_that_servers_may_read_differently_is_refused(form: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_form(TYPE, ODD[form])
    assert refused.value.why is Why.BAD


TYPES = [
    "", "multipart/form-data", "multipart/mixed; boundary=x", "multipart/form-data; boundary=x; boundary=y",
    'multipart/form-data; boundary="a\\"b"', "multipart/form-data; xboundary=x",
    "multipart/form-data; boundary*=utf-8''x",
    'multipart/form-data; boundary="x', "multipart/form-data; boundary=x,y", "multipart/form-data; a=b; boundary=x",
    "multipart/form-data; charset=utf-16; boundary=x", "multipart/form-data; boundary=\u00e4",
]  # fmt: skip


@pytest.mark.parametrize("content_type", TYPES)
def test_a_boundary_that_servers_may_read_differently_is_refused(content_type: str) -> None:
    with pytest.raises(RefusedError):
        read_form(content_type, write(MODEL))


@pytest.mark.parametrize("filler", [b"content-disposition:", b"; name=", b"--", b"\r\n", b"--x\r\n", b'"', b"a" * 10])
def test_the_time_to_refuse_a_form_grows_with_its_size(filler: bytes) -> None:
    """With quadratic time these would take hours."""
    for body in (filler, b"--x\r\n" + filler, b"--x\r\nContent-Disposition: form-data; name=" + filler):
        with pytest.raises(RefusedError):
            read_form(TYPE, body + filler * (10_000_000 // len(filler)) + b"\r\n--x--\r\n")


@pytest.mark.parametrize("name", ["api_base", "fallbacks", "models[]", "preset", "user_config"])
def test_a_field_that_would_choose_another_model_or_server_is_refused(name: str) -> None:
    with pytest.raises(RefusedError, match=f"{name.removesuffix('[]')} is no option"):
        run_at_once(read_call(Call.TRANSCRIPTION, Entry("p"), TYPE, write(MODEL, named(f'name="{name}"'))))


@pytest.mark.parametrize("holder", ["models", "fallbacks"])
@pytest.mark.parametrize("names", [["gpt-9" * 1_000_000 + "-mini"], ["gpt-9"] * 1_000_000], ids=["long", "many"])
def test_names_of_models_are_counted_and_measured_before_they_are_compared(holder: str, names: list[str]) -> None:
    parts: Any = [{"type": "image_url", "image_url": {"url": "https://a.example/b"}}]
    document = {"model": "m", holder: names, "messages": [{"role": "user", "content": parts}]}
    with pytest.raises(RefusedError):
        run_at_once(read_call(Call.CHAT, Entry("p"), "application/json", json.dumps(document).encode()))


def test_the_names_decide_whether_the_provider_may_fetch_something() -> None:
    assert not Form("m", frozenset({"model", "file"})).adds_hidden_input
    assert Form("m", frozenset({"model", "url"})).adds_hidden_input
