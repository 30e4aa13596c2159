"""What staff write about a type: its default models and its variables, and how a container gets them."""

from typing import Any

import pytest

from projects.rules.type_facts import (
    CREDENTIALS,
    PLACES,
    as_text,
    default_model,
    fill_variables,
    places_in,
    read_default_models,
    read_variables,
)

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("gpt-5.4-mini", {"any": "gpt-5.4-mini"}),
        ("anthropic: claude-haiku-5-5\r\n\r\nopenai:gpt-5", {"anthropic": "claude-haiku-5-5", "openai": "gpt-5"}),
        ("author/model:free", {"any": "author/model:free"}),
        ("openrouter: author/model:free\nother", {"openrouter": "author/model:free", "any": "other"}),
    ],
)
def test_default_models_have_a_line_each(text: str, found: dict[str, str]) -> None:
    assert read_default_models(text) == found


def test_the_default_model_is_the_provider_s_or_else_the_general_one() -> None:
    text = "anthropic: a\nb"
    assert [default_model(text, provider) for provider in ("anthropic", "openai", "")] == ["a", "b", "b"]
    assert default_model("anthropic: a", "openai") == ""


@pytest.mark.parametrize("text", ["a\nb", "openai: a\nopenai: b", "two words", "openai:", "mod\x00el", "é", "m" * 201])
def test_an_invalid_model_list_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        read_default_models(text)


@pytest.mark.parametrize(
    "text",
    ["A", "1A=x", "A B=x", "=x", "A=1\nA=2", "A={token}", "A={settings.}{nope}", "LD_PRELOAD=x", "https_proxy=x",
     "No_Proxy=x", "\n".join(f"A{n}=x" for n in range(101)), "Ä=x", "A\x00=x", "A=x\x00y", "A=x\u202ey"],
)  # fmt: skip
def test_an_invalid_variable_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        read_variables(text)


def test_every_place_is_filled_and_other_braces_stay() -> None:
    facts = {place: f"<{place}>" for place in PLACES}
    text = "\n".join(f"V_{place.upper()}=a{{{place}}}b" for place in PLACES)
    filled = fill_variables(text, facts=facts, settings={})
    assert filled == {f"V_{place.upper()}": f"a<{place}>b" for place in PLACES}
    literal = 'JSON={"a": 1, "b": {"c": []}}\nEMPTY={settings.none}\nBOTH={model}/{settings.x}=={model}'
    assert fill_variables(literal, facts=facts, settings={"x": 7}) == {
        "JSON": '{"a": 1, "b": {"c": []}}',
        "BOTH": "<model>/7==<model>",
    }
    assert places_in(text) == set(PLACES) > set(CREDENTIALS)


def test_the_value_of_a_setting_never_becomes_a_placeholder() -> None:
    """An owner's text is not searched for placeholders, so it cannot get a credential."""
    facts = dict.fromkeys(PLACES, "secret")
    found = fill_variables("A={settings.x}", facts=facts, settings={"x": "{api_key}{settings.x}"})
    assert found == {"A": "{api_key}{settings.x}"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), ("a\nb", "a\nb"), (7, "7"), (1.5, "1.5"), (True, "true"), (["a", 7], "a,7"), ([], ""),
     ([True], "[true]"), ([["a"]], '[["a"]]'), ({"b": 1, "a": "é"}, '{"a":"\\u00e9","b":1}')],
)  # fmt: skip
def test_a_setting_is_written_in_the_usual_form_of_variables(value: Any, text: str) -> None:
    assert as_text(value) == text
