"""Many short credentials, such as those of ten servers, are found in every form, as a few are."""

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
