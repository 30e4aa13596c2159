"""The agent's own sentences, in the language of the user's client."""

from assistant.texts import ar, de, en, es, zh
from assistant.texts.keys import COMMANDS, Text

LANGUAGES = {"en": en.SENTENCES, "de": de.SENTENCES, "es": es.SENTENCES, "zh": zh.SENTENCES, "ar": ar.SENTENCES}

__all__ = ["COMMANDS", "LANGUAGES", "Text", "say"]


def say(text: Text, language: str | None, **values: object) -> str:
    """The sentence, in English where there is none in this language (an IETF tag such as `de-AT`)."""
    known = LANGUAGES.get((language or "").lower().partition("-")[0], en.SENTENCES)
    return known[text].format(**values)
