"""Many short credentials, such as those of ten servers, are found in every form. Numbers of any length harm nothing."""

import base64
from collections.abc import Callable

import pytest

from projects.credentials.redaction import DISGUISED, FEW, Redactor

pytestmark = pytest.mark.one_database
SECRETS = [f"key{number}-{chr(97 + number % 26)}{number * 7919:06}" for number in range(60)]
FORMS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a longer text": lambda text: base64.b64encode(f"a: {text}; b".encode()).decode(),
    "base16": lambda text: text.encode().hex(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "reversed": lambda text: text[::-1],
    "split": "\u200b".join,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_of_many_credentials_is_found_in_another_form(form: Callable[[str], str]) -> None:
    redactor = Redactor(SECRETS)
    assert len(redactor._short_forms) > FEW
    for secret in SECRETS:
        line = f"2026 a line with {form(secret)} in it"
        assert redactor.redact(line) == Redactor([secret]).redact(line) == DISGUISED
    assert redactor.redact("a line of a log with nothing in it") == "a line of a log with nothing in it"


def test_a_line_is_searched_once_no_matter_how_many_credentials_there_are() -> None:
    redactor, searched = Redactor(SECRETS), list[str]()

    class View(str):
        __slots__ = ()

        def __contains__(self, form: object) -> bool:
            searched.append(str(form))
            return super().__contains__(str(form))

    assert not redactor._is_in(View("alineofalogwithnothinginitthatislong"))
    assert not searched


@pytest.mark.parametrize("digits", ["9" * 8000, "0" * 8000 + "65", "0" * 8000, "65" * 4000], ids=lambda text: text[:1])
@pytest.mark.parametrize("line", ["&#{}", "&#{};", "%26%23{};", "&amp;#{};", "&amp;amp;#{};", "\\x26#{};", "&#x{};"])
def test_a_number_of_thousands_of_digits_is_no_character(line: str, digits: str) -> None:
    """Python refuses to read it, and the log of an agent that printed one could not be shown."""
    printed = line.format(digits)
    assert Redactor(SECRETS[:1]).redact(printed) == printed


@pytest.mark.parametrize("number", ["&#{};", "&#0{};", f"&#{'0' * 8000}{{}};", "&#x{:x};", "&amp;#00{};"])
def test_a_credential_in_characters_numbers_is_found(number: str) -> None:
    assert Redactor(SECRETS[:1]).redact("".join(number.format(ord(each)) for each in SECRETS[0])) == DISGUISED
