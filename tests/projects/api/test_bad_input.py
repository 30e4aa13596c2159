"""Whatever is wrong with a request, the answer is the right problem document, and nothing has come of it."""

import base64
import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from rest_framework.test import APIClient

from config.request_bodies import ignore_charsets
from projects.models import AgentType, Event, IdempotencyRecord, Plan, Project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem, codes_of

LIMIT = 64 * 1024
CREATING = ("create", "validate")
WRITING = ("create", "validate", "change")
EVERY = (*WRITING, "control", "login")


@pytest.fixture(autouse=True)
def _nothing_comes_of_it(project: Project, engine: MemoryEngine) -> Iterator[None]:
    """Alice has one project; whatever a test here sends leaves rows, records and the engine as they were."""
    before = _everything(engine)
    yield
    assert _everything(engine) == before


def _everything(engine: MemoryEngine) -> list[Any]:
    models = (Project, Event, IdempotencyRecord, Plan, AgentType)
    acts = [call for call in engine.calls if call[0] in {"deploy", "start", "stop", "remove"}]
    rows = [list(model._default_manager.order_by("pk").values()) for model in models]
    return [*rows, acts, sorted(engine.containers), sorted(engine.volumes)]


class Sender:
    """Sends to one of the paths that take a body, as Alice."""

    def __init__(self, api: APIClient, project: Project, good: dict[str, Any]) -> None:
        path = f"/api/projects/{project.id}"
        self.api = api
        self.routes: dict[str, tuple[str, str, dict[str, Any]]] = {
            "create": ("POST", "/api/projects", good),
            "validate": ("POST", "/api/projects/validate", good),
            "change": ("PATCH", path, {"name": "Renamed"}),
            "control": ("POST", f"{path}/control", {"action": "stop"}),
            "login": ("POST", "/api/auth/login", {"email": "nobody@example.org", "password": "no password at all"}),
        }

    def raw(self, route: str, content: Any, content_type: str = "application/json", **extra: Any) -> Any:
        method, path, _ = self.routes[route]
        return self.api.generic(method, path, content, content_type, **extra)

    def without(self, route: str, field: str) -> Any:
        return self.raw(route, _json({name: value for name, value in self.good(route).items() if name != field}))

    def with_(self, route: str, **fields: Any) -> Any:
        return self.raw(route, _json(self.good(route) | fields))

    def good(self, route: str) -> dict[str, Any]:
        return self.routes[route][2]


def _json(document: Any) -> Any:
    """As `json.dumps` has it, so that half a surrogate pair goes over as an escape. Bytes, which the stubs refuse."""
    return json.dumps(document).encode()


@pytest.fixture
def send(api: APIClient, project: Project, body: dict[str, Any]) -> Sender:
    return Sender(api, project, body | {"plan": "pro", "telegramToken": "555:a-free-bot"})


# -- fields -----------------------------------------------------------------------------------------------------------

NO_STRING = [
    *((value, "invalid") for value in (0, 5, 1.5, True, False, [], ["x"], {}, {"a": "b"}, 10**300)),
    (None, "null"),
]
NO_TEXT = [*NO_STRING, ("", "blank"), ("   ", "blank"), ("\t\r\n", "blank"), ("\u3000", "blank")]
NO_LINE = [
    *NO_TEXT,
    *((f"Har{character}bour", "control") for character in "\x00\x01\t\n\r\x0b\x1b\x1f\x7f\x80\x85\x9f\u2028\u2029"),
    *((text, "control") for text in ("\ud800", "a\udfff", "\udc00\ud800", "\x00")),
]
WRONG = {
    "name": [*NO_LINE, ("x" * 65, "max_length"), ("😀" * 65, "max_length"), ("x" * 60_000, "max_length")],
    "type": [
        *NO_LINE,
        *((slug, "unknown_choice") for slug in ("robot", "Assistant", "assistant'--", "%00", "\uff41ssistant")),
        ("a" * 41, "max_length"),
    ],
    "plan": [
        *NO_LINE,
        *((slug, "unknown_choice") for slug in ("gold", "FREE", "free;", "free free", "0", "-1")),
        ("a" * 41, "max_length"),
    ],
    "telegramToken": [
        *NO_LINE,
        *(
            (token, "malformed")
            for token in (
                "x", ":", ":abc", "12", "12:", "abc:def", "-1:abc", "1.5:abc", "+1:abc", "0x1:abc", "1_0:abc", "١٢:abc",
                "\uff11:abc", "12 :abc", "12:a bc", "12:\u00a0b", "1234567890123456789:abc",
            )
        ),
        ("1:" + "x" * 255, "max_length"),
    ],
    "apiKey": [*NO_LINE, ("k" * 1025, "max_length")],
}  # fmt: skip


@pytest.mark.parametrize("route", WRITING)
@pytest.mark.parametrize("field", WRONG)
def test_a_wrong_field_is_named(send: Sender, route: str, field: str) -> None:
    if (route, field) == ("change", "type"):
        assert codes_of(send.with_(route, type="assistant")) == {("type", "unknown")}
        return
    for value, code in WRONG[field]:
        answer = send.with_(route, **{field: value})
        assert_problem(answer, 400, "invalid", field=field)
        assert codes_of(answer) == {(field, code)}, ascii(value)


@pytest.mark.parametrize("route", CREATING)
@pytest.mark.parametrize("field", ["name", "telegramToken", "apiKey"])
def test_a_missing_field_is_named(send: Sender, route: str, field: str) -> None:
    answer = send.without(route, field)
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {(field, "required")}


@pytest.mark.parametrize("route", CREATING)
def test_all_that_is_wrong_is_said_at_once(send: Sender, route: str) -> None:
    wrong = {"name": "", "type": 5, "plan": None, "telegramToken": "x", "apiKey": [], "settings": 1, "owner": "bob"}
    answer = send.with_(route, **wrong)
    assert {field for field, _ in codes_of(answer)} == set(wrong)


@pytest.mark.parametrize("route", CREATING)
@pytest.mark.parametrize("kind", [Plan, AgentType])
def test_what_is_no_longer_offered_cannot_be_chosen(send: Sender, route: str, kind: Any, engine: MemoryEngine) -> None:
    field = "plan" if kind is Plan else "type"
    chosen = kind.objects.filter(slug=send.good(route)[field])
    chosen.update(available=False)
    answer = send.with_(route)
    assert codes_of(answer) == {(field, "unknown_choice")}
    chosen.update(available=True)


UNKNOWN = (
    "owner", "owner_id", "id", "status", "desired", "container_id", "suspended_at", "bot_id", "image", "created_at",
    "telegram_token", "api_key", "Name", " name", "", "__proto__", "constructor", "settings.model", "name[]",
    "x" * 5000, "\x00", "non_field_errors", "ключ",
)  # fmt: skip


@pytest.mark.parametrize("route", EVERY)
def test_an_unknown_field_is_refused_and_not_dropped(send: Sender, route: str) -> None:
    for field in UNKNOWN:
        answer = send.with_(route, **{field: "x"})
        assert_problem(answer, 400, "invalid")
        assert {code for _, code in codes_of(answer)} == {"unknown"}, ascii(field)


@pytest.mark.parametrize("route", EVERY)
def test_an_unknown_field_that_cannot_be_written_is_still_answered(send: Sender, route: str) -> None:
    assert_problem(send.with_(route, **{"\ud800": 1}), 400, "invalid")


@pytest.mark.parametrize("route", EVERY)
def test_thousands_of_unknown_fields_make_a_short_answer(send: Sender, route: str) -> None:
    answer = send.with_(route, **{f"f{number}": 1 for number in range(4000)})
    assert_problem(answer, 400, "invalid")
    assert len(answer.content) < 4096


ACTIONS = [
    *(
        (value, "invalid_choice")
        for value in ("", " ", "START", "Stop", "start ", "kill", "delete", "deploy", "start\x00", "\ud800", "x" * 9999)
    ),
    *((value, "invalid_choice") for value in (0, 1, True, 1.5, [], ["stop"], {}, {"action": "stop"})),
    (None, "null"),
]


def test_an_action_is_one_of_three_words(send: Sender) -> None:
    for action, code in ACTIONS:
        answer = send.with_("control", action=action)
        assert_problem(answer, 400, "invalid", field="action")
        assert codes_of(answer) == {("action", code)}, ascii(action)
        assert "x" * 20 not in answer.content.decode()


def test_a_control_command_without_an_action_is_refused(send: Sender) -> None:
    assert codes_of(send.raw("control", b"{}")) == {("action", "required")}


# -- settings ---------------------------------------------------------------------------------------------------------

NO_OBJECTS: list[Any] = ["", "x", 0, 1.5, True, [], [{}], [["model", "x"]]]
NO_USERS: list[Any] = [
    0, -1, 1.5, 7.0, True, None, [], {}, "", "@", "@ab", "alice", "@al ice", "@alice,7", "7,8", "@alice\n",
    "-1", 10**18 + 1, 10**400, "9" * 19,
]  # fmt: skip


def _each(name: str, code: str, *values: Any) -> list[tuple[Any, str, str]]:
    """One case for each wrong value of a setting."""
    return [({name: value}, f"settings.{name}", code) for value in values]


SETTINGS: list[tuple[Any, str, str]] = [
    (None, "settings", "null"),
    *((value, "settings", "not_a_dict") for value in NO_OBJECTS),
    ({"mood": "bright"}, "settings.mood", "unknown"),
    ({"telegramToken": "1:x"}, "settings.telegramToken", "unknown"),
    ({"": 1}, "settings.", "unknown"),
    *_each("model", "type", None, 5, True, [], {}),
    ({"model": ""}, "settings.model", "minLength"),
    ({"model": "m" * 101}, "settings.model", "maxLength"),
    ({"instructions": "i" * 8001}, "settings.instructions", "maxLength"),
    ({"instructions": ["be", "kind"]}, "settings.instructions", "type"),
    *_each("provider", "enum", "mistral", "OpenAI", "", None, 5, [], {}),
    *_each("allowed_users", "type", "@alice", 7, {}, None, True),
    ({"allowed_users": list(range(1, 202))}, "settings.allowed_users", "maxItems"),
    ({"allowed_users": [7, 7]}, "settings.allowed_users", "uniqueItems"),
    *(({"allowed_users": [1, value]}, "settings.allowed_users.1", "anyOf") for value in NO_USERS),
    *(({"model": f"a{character}b"}, "settings", "control_characters") for character in "\x00\x1b\x7f\r\x08"),
    ({"instructions": "\ud83d"}, "settings", "control_characters"),
    ({"\ud800": "x"}, "settings", "control_characters"),
    ({"a\x00b": "x"}, "settings", "control_characters"),
    ({"model": {"nested": ["\x00"]}}, "settings", "control_characters"),
    ({"instructions": "i" * 17_000}, "settings", "too_long"),
    ({"x": ["y"] * 6_000}, "settings", "too_long"),
]  # fmt: skip


@pytest.mark.parametrize("route", WRITING)
def test_settings_fit_the_schema_of_the_type(send: Sender, route: str) -> None:
    for settings, field, code in SETTINGS:
        answer = send.with_(route, settings=settings)
        assert_problem(answer, 400, "invalid")
        assert (field, code) in codes_of(answer), ascii(settings)[:200]
        assert {name for name, _ in codes_of(answer)} == {field}


@pytest.mark.parametrize("route", WRITING)
def test_no_message_quotes_the_settings(send: Sender, route: str) -> None:
    """People paste a credential into the wrong field."""
    pasted = "sk-pasted-into-the-wrong-field"
    settings = {"provider": pasted, "model": [pasted], "instructions": {"x": pasted}, "allowed_users": [pasted]}
    answer = send.with_(route, settings=settings)
    assert_problem(answer, 400, "invalid")
    assert pasted not in answer.content.decode()


@pytest.mark.parametrize("route", WRITING)
def test_a_thousand_mistakes_in_the_settings_make_a_short_answer(send: Sender, route: str) -> None:
    answer = send.with_(route, settings={"allowed_users": [[number] for number in range(2000)]})
    assert_problem(answer, 400, "invalid")
    assert len(answer.content) < 8192


@pytest.mark.parametrize("route", CREATING)
def test_settings_that_any_schema_takes_are_still_json(send: Sender, route: str) -> None:
    before = AgentType.objects.get().settings_schema
    AgentType.objects.update(settings_schema={})
    answer = send.raw(route, _json(send.good(route)).replace(b'"name"', b'"settings": {"x": 1e400}, "name"'))
    assert_problem(answer, 400, "invalid")
    AgentType.objects.update(settings_schema=before)


# -- the body as a whole ----------------------------------------------------------------------------------------------

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
def test_a_body_that_is_no_json_is_refused(send: Sender, route: str) -> None:
    for name, content in BROKEN.items():
        answer = send.raw(route, content)
        assert_problem(answer, 400, "invalid")
        assert codes_of(answer) == {(None, "parse_error")}, name


@pytest.mark.parametrize("route", EVERY)
def test_a_body_that_is_no_object_is_refused(send: Sender, route: str) -> None:
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
        assert_problem(send.raw(route, _json(send.good(route)), content_type), 415, "unsupported_media_type")


@pytest.mark.parametrize("route", EVERY)
def test_a_body_without_a_content_type_is_a_415(send: Sender, route: str) -> None:
    assert_problem(send.raw(route, _json(send.good(route)), "", CONTENT_TYPE=""), 415, "unsupported_media_type")


CHARSETS = [
    "latin-1", "utf-16", "hex", "base64", "zlib", "bz2", "rot13", "idna", "undefined", "unicode_escape", "no-such", "",
]  # fmt: skip


@pytest.mark.parametrize("charset", CHARSETS)
def test_the_charset_that_a_request_names_is_not_asked_for(charset: str) -> None:
    """Django reads it before there is any middleware, and would break on `hex` with the query in hand."""
    requests: list[WSGIRequest] = []

    def django(environ: dict[str, Any], _start_response: Any) -> list[bytes]:
        requests.append(WSGIRequest(environ))
        return []

    environ = {"REQUEST_METHOD": "GET", "QUERY_STRING": "a=%ff", "wsgi.input": BytesIO()}
    named = f"application/json; Charset = {charset}; v=1"
    ignore_charsets(django)({**environ, "CONTENT_TYPE": named}, lambda *_: lambda _: None)
    [request] = requests
    assert (request.encoding, request.content_type, request.GET["a"]) == (None, "application/json", "\ufffd")


@pytest.mark.parametrize("route", EVERY)
@pytest.mark.parametrize("charset", ["latin-1", "utf-16", "utf-7", "unicode_escape", "no-such", ""])
def test_json_is_utf_8_whatever_charset_is_named(send: Sender, route: str, charset: str) -> None:
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


# -- the path ---------------------------------------------------------------------------------------------------------

NO_IDS = [
    "x", "0", "-1", "None", "null", "undefined", "*", "..", ".", "%2e%2e", "%00", "a%00b", "%0a", "%ff", "%ed%a0%80",
    "00000000-0000-0000-0000-000000000000", "{{{id}}}", "urn:uuid:{id}", "{hex}", "{id}0", "{id}%00", "{id}%20",
    "%20{id}", "{id}%2f", "{id}%0a", "{half}", "{fullwidth}", "🚢", "x" * 2000, "{id}'--", "{id};", "{id},{id}",
    "0x{hex}",
]  # fmt: skip
BY_ID = [
    ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/control"), ("GET", "/events"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "rest"), BY_ID)
def test_what_is_no_id_is_a_404(api: APIClient, project: Project, method: str, rest: str) -> None:
    own = str(project.id)
    fullwidth = own.translate({ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"})
    content = _json({"action": "stop"}) if rest else _json({"name": "Renamed"})
    for text in NO_IDS:
        asked = text.format(id=own, hex=project.id.hex, half=own[:18], fullwidth=fullwidth)
        answer = api.generic(method, f"/api/projects/{asked}{rest}", content, "application/json")
        assert_problem(answer, 404, "not_found")


def test_the_letter_case_of_an_id_does_not_matter(api: APIClient, project: Project) -> None:
    assert api.get(f"/api/projects/{str(project.id).upper()}").json()["id"] == str(project.id)


ODD_PATHS = [
    "/api/projects/", "/api/projects/{id}/", "/api/projects/{id}/control/", "/api//projects", "/api/plans/",
    "/api/projects/{id}/exec", "/api/projects/{id}/control/x", "/api/projects/{id}/../{id}", "/api/v1/projects",
]  # fmt: skip


@pytest.mark.parametrize("path", ODD_PATHS)
def test_paths_are_exact(api: APIClient, project: Project, path: str) -> None:
    for method in ("GET", "POST", "PATCH", "DELETE"):
        answer = api.generic(method, path.format(id=project.id), _json({"action": "stop"}), "application/json")
        assert_problem(answer, 404, "not_found")


# -- headers and the query --------------------------------------------------------------------------------------------

BAD_KEYS = ["", "x" * 256, "a\x7fb", "a\tb", "a\x00b", "schlüssel", "鍵", "\ud800", "a\x1bb"]


def test_a_bad_idempotency_key_is_named(send: Sender) -> None:
    for key in BAD_KEYS:
        answer = send.raw("create", _json(send.good("create")), HTTP_IDEMPOTENCY_KEY=key)
        assert_problem(answer, 400, "invalid", field="Idempotency-Key")


def test_a_refused_request_leaves_its_idempotency_key_free(send: Sender) -> None:
    assert send.raw("create", b"{}", HTTP_IDEMPOTENCY_KEY="k").status_code == 400


BAD_CURSORS = [
    "", "x", "%00", "ü", "=", "====", "cD0=", "x" * 3000,
    *(
        base64.b64encode(text.encode()).decode()
        for text in (
            "p=yesterday", "p=", "p=2026-01-01", "p=2026-13-45 00:00:00+00:00", "p=2026-01-01 00:00:00",
            "p=0001-01-01 00:00:00+14:00", "p=9999-12-31 23:59:59-14:00", "p=\x00", "p=1&p=2", "p=%ff",
            "o=-1", "o=x", "o=99999999999999999999", "p=%27--", "r=1&p=never", "p=2026-01-01 00:00:00+99:00",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("limit", ["", "&limit=1"])
def test_a_bad_cursor_is_named(api: APIClient, limit: str) -> None:
    for cursor in BAD_CURSORS:
        answer = api.get(f"/api/projects?cursor={cursor.replace('+', '%2B')}{limit}")
        assert_problem(answer, 400, "invalid", field="cursor")


NO_NUMBERS = [
    "", "-1", "1.5", "1e1", "0x10", "ten", "%20", "1%00", "٣", "²", "\uff11", "000000000999", "9" * 5000, "0" * 5000,
    "NaN", "+5", "true", "null",
]  # fmt: skip


def test_a_bad_limit_is_named(api: APIClient) -> None:
    for limit in (*NO_NUMBERS, "0", "201"):
        assert_problem(api.get(f"/api/projects?limit={limit}"), 400, "invalid", field="limit")


@pytest.mark.parametrize("route", ["create", "control"])
def test_a_bad_wait_is_named(send: Sender, route: str) -> None:
    _, path, good = send.routes[route]
    for wait in (*NO_NUMBERS, "31"):
        assert_problem(send.api.post(f"{path}?wait={wait}", good), 400, "invalid", field="wait")


def test_a_bad_restart_is_named(send: Sender) -> None:
    _, path, good = send.routes["change"]
    for restart in ("", "1", "yes", "True", "TRUE", "null", "%00", "true%20", "truetrue"):
        assert_problem(send.api.patch(f"{path}?restart={restart}", good), 400, "invalid", field="restart")


ACCEPTS = [
    "", "x", "/", ";", "text/html", "application/xml", "application/json;q=x", ";;;=,,,", "ü", "*", "a" * 5000,
    "application/json; indent=x", "application/json; indent=999999999", "text/*;q=0.3, */*;q=0",
]  # fmt: skip


def test_an_odd_accept_header_is_answered_in_json_or_with_a_406(api: APIClient) -> None:
    for accept in ACCEPTS:
        answer = api.get("/api/projects", headers={"accept": accept})
        if answer.status_code == 200:
            assert answer.json()
        else:
            assert_problem(answer, 406, "not_acceptable")


def test_an_odd_query_is_no_matter(api: APIClient) -> None:
    for query in ("format=xml", "format=json", "format=", "%00", "a=%ff&b=%00", "&&&", "=", "token=x"):
        assert api.get(f"/api/projects?{query}").status_code in {200, 404}, query


def test_a_query_of_thousands_of_parameters_is_refused(api: APIClient) -> None:
    assert_problem(api.get("/api/projects?" + "a=1&" * 1001), 400, "invalid")


@pytest.mark.parametrize("sent", ["", "a b", "x" * 65, "a\nb", "<script>", "ü"])
def test_a_request_id_that_is_not_sane_is_replaced(api: APIClient, sent: str) -> None:
    answer = api.get("/api/projects/x", headers={"x-request-id": sent})
    assert assert_problem(answer, 404, "not_found")["request_id"] != sent
