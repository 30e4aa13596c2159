"""No body and no header of a stranger breaks a page, and each refusal is a page that says what to do.

`test_hostile_page_values.py` is about single values; here it is the form as a whole that is malformed.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import pytest
from django.db import transaction
from django.test import Client

from tests.clients import browser_of
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes

pytestmark = [pytest.mark.one_database("postgresql"), pytest.mark.timeout(7200)]

FORM, PARTS = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
PART = '--x\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\nhel\0lo\r\n'
OF_STRANGERS = ("/sign-in", "/sign-in/code", "/sign-up", "/set-password/x/set-password")
FOR_PROGRAMS = re.compile("/(healthz|readyz|metrics|cli)")


class Forms(HTMLParser):
    """The forms of a page that change something: where each is sent, and the names of its fields."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self._fields: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "form":
            self._fields = []
            if (values.get("method") or "").lower() == "post":
                self.found[values.get("action") or ""] = self._fields
        elif tag in {"input", "select", "textarea", "button"} and values.get("name"):
            self._fields.append(str(values["name"]))


def bodies(fields: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yields a name, the type of the content, and the body."""

    def all_of(value: str) -> bytes:
        return "&".join(f"{name}={value}" for name in fields).encode()

    yield "9,000 fields", FORM, "&".join(f"a{number}=" for number in range(9000)).encode()
    yield "one field 9,000 times", FORM, b"&".join([fields[0].encode()[:5] + b"="] * 9000)
    yield "each field twice", FORM, all_of("a") + b"&" + all_of("b")
    yield "very long", FORM, all_of("x" * (60_000 // len(fields)))
    yield "no UTF-8", FORM, all_of("%ff%fe%ed%a0%80")
    yield "no form", FORM, all_of("x") + b"\xff\xfe\x00&=&==&%&%zz"
    yield "NUL", FORM, all_of("%00")
    yield "marks of direction", FORM, all_of("%E2%80%AEabc%E2%80%AC")
    for kind in ("application/json", "text/plain", "application/xml", "", "\x00", "multipart/form-data"):
        yield f"as {kind}", kind, all_of("x")
    for charset in ("utf-7", "utf-16", "rot13", "nonsense"):
        yield f"in {charset}", f"{FORM}; charset={charset}", all_of("+AD0-")
    yield "cut off", PARTS, b'--x\r\nContent-Disposition: form-data; name="a'
    yield "a file", PARTS, PART.format(fields[0], '; filename="../a"').encode() + b"--x--\r\n"
    yield "parts", PARTS, "".join(PART.format(name, "") for name in fields).encode() + b"--x--\r\n"
    yield "1,100 parts", PARTS, b"".join([PART.format("a", "").encode()] * 1100) + b"--x--\r\n"


HEADERS: tuple[dict[str, str], ...] = (
    {"hx-request": "true", "hx-current-url": "http://[", "hx-target": "\x00"},
    {"hx-request": "true", "hx-current-url-uri-autoencoded": "true", "hx-current-url": "%ff%fe"},
    {"referer": "\udcff"}, {"accept-language": "x" * 5000}, {"user-agent": "\u202e" * 500}, {"accept": "\x00"},
    {"x-forwarded-for": "a," * 500}, {"range": "bytes=0-0"}, {"if-none-match": '"' * 500}, {"origin": "null"},
    {"if-modified-since": "Sat, 99 Foo 99999"}, {"sec-fetch-site": "\x00"}, {"last-event-id": "\x00"},
    {"host": "a b"}, {"host": ""}, {"x-request-id": "\n"}, {"x-http-method-override": "DELETE"},
)  # fmt: skip


def visitors(service: PopulatedService) -> Iterator[tuple[Any, str]]:
    for route in page_routes():
        user = service.admin if route.startswith("/admin/") else service.alice
        yield user, address_of(route, service.route_parameters)
    yield from ((None, path) for path in OF_STRANGERS)


def send(user: Any, method: str, path: str, *args: Any, **options: Any) -> Any:
    """Returns the answer. Undoes the changes of the request, so that the next one finds the same state."""
    with transaction.atomic():
        answer = browser_of(user, raise_request_exception=False).generic(method, path, *args, **options)
        if answer.streaming:
            hang_up(answer)
        transaction.set_rollback(True)
    return answer


def is_well(path: str, answer: Any) -> bool:
    if answer.status_code < 400 or FOR_PROGRAMS.match(path):
        return True
    return answer.status_code < 500 and not answer.streaming and b"<h1" in answer.content


def forms_of(user: Any, path: str) -> dict[str, list[str]]:
    page = send(user, "GET", path)
    found = {} if page.streaming else Forms(page.content.decode("utf-8", "replace")).found
    targets = {urljoin(path, action): fields for action, fields in found.items()}
    return {path: ["x"]} | {to: fields or ["x"] for to, fields in targets.items() if not re.search("sign-|logout", to)}


@pytest.mark.rare(2)
def test_no_body_breaks_a_page(service: PopulatedService, some: Some) -> None:
    wrong = []
    for number, (user, path) in enumerate(visitors(service)):
        for target, fields in forms_of(user, path).items():
            for name, kind, body in some(bodies(fields), one_in=21, first=number * 5):
                answer = send(user, "POST", target, body, content_type=kind)
                if not is_well(target, answer):
                    wrong.append((target, name, answer.status_code))
    assert wrong == []


@pytest.mark.rare(2)
def test_no_header_breaks_a_page(service: PopulatedService, some: Some) -> None:
    wrong = []
    for number, (user, path) in enumerate(visitors(service)):
        for headers in some(HEADERS, one_in=13, first=number * 3):
            answer = send(user, "GET", path, headers=headers)
            if answer.status_code >= 500:
                wrong.append((path, headers, answer.status_code))
    assert wrong == []


def test_a_form_that_has_expired_says_how_to_keep_what_was_typed(service: PopulatedService) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(service.alice)
    answer = client.post("/settings/profile", {"name": "typed"})
    assert answer.status_code == 403
    assert "copy what you have typed" in answer.content.decode()
