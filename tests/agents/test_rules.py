"""The agent's pure functions: splitting texts, recognising providers, reading refusals."""

import json
from typing import Any

import pytest

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable

VENDOR_ERRORS = [
    (401, "", "provider_key"),
    (402, "Insufficient credits", "provider_credit"),
    (403, "Key limit exceeded (total limit)", "provider_credit"),
    (403, "not allowed to sample from this model", "provider_model"),
    (404, "model_not_found", "provider_model"),
    (400, "x/y is not a valid model ID", "provider_model"),
    (400, "Your credit balance is too low to access the Anthropic API", "provider_credit"),
    (400, "maximum context length", None),
    (413, "request too large", None),
    (429, "insufficient_quota", "provider_credit"),
    (429, "rate_limit_exceeded", "provider_busy"),
    (503, "", "provider_busy"),
    (529, "Overloaded", "provider_busy"),
    (500, "", "provider_down"),
    (302, "", "provider_down"),
]


@pytest.mark.parametrize(("status", "text", "code"), VENDOR_ERRORS)
def test_a_refusal_is_understood(status: int, text: str, code: str | None) -> None:
    from berth_agent.providers import explain_refusal

    problem = explain_refusal(status, text)
    assert (problem.code if problem else None) == code


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (413, {"x-berth-budget": "day"}, "BUDGET_SHORT"),
        (413, {"x-berth-budget": "day", "x-berth-resets": "2026-11-24T00:00:00+00:00"}, "BUDGET_SHORT"),
        (429, {"x-berth-budget": "month", "x-berth-resets": "2026-12-01T00:00:00+00:00"}, "BUDGET_REACHED"),
        (400, {"x-berth-budget": "month", "x-berth-resets": "soon"}, None),
        (413, {}, None),
        (429, {"retry-after": "1"}, None),
    ],
)
def test_a_spent_budget_is_distinguished_from_an_empty_account(
    status: int, headers: dict[str, str], said: str | None
) -> None:
    from assistant.model.completion import StatusError
    from assistant.model.refusals import explain_budget
    from assistant.texts import translate

    notice = explain_budget(StatusError(status, "no", headers))
    assert (notice[0].name if notice else None) == said
    assert notice is None or "{" not in translate(notice[0], "de", **notice[1])


@pytest.mark.parametrize("kind", ["openai", "anthropic", "openrouter", "compatible"])
@pytest.mark.parametrize("is_response", [False, True])
def test_a_budget_that_ends_a_stream_is_not_an_empty_account(kind: str, is_response: bool) -> None:
    from assistant.chatting.answering import Answerer
    from assistant.model.client import RefusedError
    from assistant.model.completion import Completion, StatusError, raise_for_error
    from assistant.model.refusals import explain, explain_budget
    from gateway.budgets.budget_refusals import budget_reached
    from gateway.entries.entry import Kind
    from gateway.periods import Period
    from gateway.rules.refusals import shape_in_stream

    event = shape_in_stream(budget_reached(Period.DAY, 500_000), Kind(kind), is_response=is_response)
    (line,) = [line for line in event.splitlines() if line.startswith(b"data: ")]
    with pytest.raises(StatusError) as refused:
        raise_for_error(json.loads(line.removeprefix(b"data: ")))
    notice = explain_budget(refused.value)
    assert notice is not None
    assert (notice[0].name, notice[1]) == ("BUDGET_REACHED", {"day": "2027-01-16"})
    told: list[Any] = []
    status: Any = type("Status", (), {"note_provider": told.append})
    nothing: Any = None
    error = RefusedError(explain(refused.value), Completion("What came of it."), notice=notice)
    said = Answerer(nothing, nothing, nothing, nothing, status, 1)._explain(error, "en")
    assert said == "I have used up my budget. I can answer again from 2027-01-16 (UTC)."


@pytest.mark.parametrize(
    ("key", "provider"), [("sk-ant-x", "anthropic"), ("sk-or-v1-x", "openrouter"), ("sk-x", "openai"), ("x", "openai")]
)
def test_the_provider_is_guessed_from_the_key(key: str, provider: str) -> None:
    from berth_agent.providers import guess_provider

    assert guess_provider(key) == provider


@pytest.mark.parametrize(
    ("listing", "known"),
    [({"data": [{"id": "a/b"}]}, True), ({"data": [{"id": "c"}]}, False), ({"data": []}, None), ([], None), ({}, None)],
)
def test_only_a_valid_list_proves_that_a_model_is_missing(listing: object, known: bool | None) -> None:
    from berth_agent.providers import model_is_listed

    assert model_is_listed("a/b:free", listing) is known


def test_allowed_users_are_read_leniently() -> None:
    from assistant.config import parse_allowed_users

    assert parse_allowed_users(" 42, @Ada,,bob ") == {"42", "ada", "bob"}
    assert parse_allowed_users("") == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "word " * 3000,
        "line\n" * 3000,
        "x" * 9000,
        "🚢" * 5000,
        "👩‍👩‍👧‍👦" * 1500,
        "é" * 5000,
        "a" * 4095 + "🚢b",
        "a" * 4096,
        " \n " * 3000 + "end",
    ],
)
def test_parts_fit_and_lose_only_whitespace(text: str) -> None:
    from assistant.formatting.formatted import Formatted, units
    from assistant.formatting.splitting import LIMIT, split

    parts = [part.text for part in split(Formatted(text))]
    assert all(0 < units(part) <= LIMIT and part.strip() for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_parts_end_at_lines_or_spaces_and_never_inside_an_emoji() -> None:
    from assistant.formatting.formatted import Formatted
    from assistant.formatting.splitting import split

    def cut(text: str, limit: int = 4096) -> list[str]:
        return [part.text for part in split(Formatted(text), limit)]

    assert cut("one two three", 8) == ["one two", "three"]
    assert cut("one\ntwo three", 8) == ["one\ntwo", "three"]
    assert cut("ab👩‍🚀", 6) == ["ab", "👩‍🚀"]
    assert cut("") == cut(" \n") == cut("\u200b \u3164") == []


def test_an_endless_answer_is_cut_with_a_note() -> None:
    from assistant.formatting.formatted import Formatted, units
    from assistant.formatting.splitting import LIMIT, MOST_PARTS, split

    parts = [part.text for part in split(Formatted("word " * 100_000))]
    assert len(parts) == MOST_PARTS
    assert parts[-1].endswith("[The rest of this answer was cut off.]")
    assert units(parts[-1]) <= LIMIT
