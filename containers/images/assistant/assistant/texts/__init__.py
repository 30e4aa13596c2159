"""The agent's own sentences, in the language of the user's client."""

from assistant.texts import ar, de, en, es, zh
from assistant.texts.keys import COMMANDS, Text

LANGUAGES = {"en": en.SENTENCES, "de": de.SENTENCES, "es": es.SENTENCES, "zh": zh.SENTENCES, "ar": ar.SENTENCES}

__all__ = ["COMMANDS", "LANGUAGES", "Text", "translate"]


def translate(text: Text, language: str | None, **values: object) -> str:
    """Returns the sentence in this language (an IETF tag such as `de-AT`), or in English if it is not supported."""
    known = LANGUAGES.get((language or "").lower().partition("-")[0], en.SENTENCES)
    return known[text].format(**values)
