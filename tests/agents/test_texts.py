"""The agent's own sentences exist in every language, with the same placeholders, and fit where they are shown."""

import re

import pytest

from containers.agent_contract import ProblemCode

pytestmark = pytest.mark.one_database


def test_each_language_has_each_sentence_with_the_same_facts() -> None:
    from assistant.texts import COMMANDS, LANGUAGES, Text, translate

    assert {"en", "de", "es", "zh", "ar"} <= LANGUAGES.keys()
    english = LANGUAGES["en"]
    for language, sentences in LANGUAGES.items():
        assert sentences.keys() == set(Text), language
        for text, sentence in sentences.items():
            assert sentence.strip()
            assert sorted(re.findall(r"{(\w+)}", sentence)) == sorted(re.findall(r"{(\w+)}", english[text])), text
            assert set(re.findall(r"/[a-z]+", sentence)) == set(re.findall(r"/[a-z]+", english[text])), text
            assert len(sentence) < 1000
            assert language == "en" or sentence != english[text]
        for text in COMMANDS.values():
            assert len(translate(text, language)) <= 256, "the longest description that Telegram takes"
        for command in COMMANDS:
            assert f"/{command}" in sentences[Text.HELP]
    assert {Text(code.value) for code in ProblemCode if code.startswith("provider_")} <= set(Text)


@pytest.mark.parametrize("tag", [None, "", "en", "EN-us", "tlh", "-", "\0", "d", "x" * 99])
def test_an_unknown_language_is_english(tag: str | None) -> None:
    from assistant.texts import Text, translate

    assert translate(Text.STOPPED, tag) == "Stopped."


def test_names_of_people_are_not_format_strings() -> None:
    from assistant.texts import Text, translate

    said = translate(Text.WHOAMI, "en", name="{user} {0} {name.__class__}", user=7, chat=7)
    assert "{user} {0} {name.__class__}" in said
