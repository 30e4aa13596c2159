"""Invalid fields. Each gets the right problem document, and changes nothing."""

from typing import Any

import pytest

from projects.models import AgentType, Plan
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.sending import CREATING, EVERY, WRITING, Sender

pytestmark = pytest.mark.usefixtures("nothing_comes_of_it")

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
def test_all_errors_are_reported_at_once(send: Sender, route: str) -> None:
    wrong = {"name": "", "type": 5, "plan": None, "telegramToken": "x", "apiKey": [], "settings": 1, "owner": "bob"}
    answer = send.with_(route, **wrong)
    assert {field for field, _ in codes_of(answer)} == set(wrong)


@pytest.mark.parametrize("route", CREATING)
@pytest.mark.parametrize("kind", [Plan, AgentType])
def test_withdrawn_plans_and_types_cannot_be_chosen(send: Sender, route: str, kind: Any, engine: MemoryEngine) -> None:
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
