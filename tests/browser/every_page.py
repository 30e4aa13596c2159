"""Every page of the service, found by its URL configuration, so that a new one is among them before anybody names it.

A page is what answers somebody who comes to its address with a document of HTML of its own; and what its forms answer
where they are sent empty. Pages for errors, to which no address leads, are their templates.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.db import transaction
from django.template.loader import render_to_string

from accounts.models import User
from tests.browser.worlds import World
from tests.clients import browser_of
from tests.paths import ROOT
from tests.projects.api.following import hang_up
from tests.security.routes import address_of, page_routes

TEMPLATES = ROOT / "templates"
DOCS = "/api/docs"
FACTS = {
    "request_id": "req_5f0c8a4be2d147f6",
    "sentence": "The database does not answer.",
    "error": "The staff are doing maintenance on this installation. Try again later; agents keep running.",
    "seconds": 12,
}
"""The context of the error pages."""
REFUSED = ("/nowhere", "/admin/nowhere/", "/admin/accounts/apikey/add/")
"""Of pages that are not there, and of what even admins may not do, these are looked at for all."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A page as one user sees it. `sent` replaces the server's answer to a GET."""

    name: str
    address: str
    visitor: User | None
    sent: bytes = b""
    status: int = 200
    policy: str = ""
    tells_call: bool = True
    """Whether it says how the API does the same, or why it does not."""


def find_pages(world: World, *, has_admin: bool) -> list[tuple[str, User | None]]:
    """Every address that may lead to a page, with the user who opens it. `ask` finds out whether it does."""
    addresses = [address_of(route, world.parameters) for route in page_routes()]
    addresses = list(dict.fromkeys([*addresses, DOCS, *REFUSED, *world.more]))
    before = [address for address in addresses if not address.startswith("/admin/")]
    pages: list[tuple[str, User | None]] = [(address, world.owner) for address in before]
    # What nobody sees who is signed in is the same in every world.
    pages += [(address, None) for address in before if world.more]
    behind = [address for address in addresses if address.startswith("/admin/")]
    return pages + [(address, world.admin) for address in behind if has_admin]


def ask(world: World, address: str, visitor: User | None) -> Seen | None:
    """The page at this address, or `None` if it redirects or is not a page."""
    answer = browser_of(visitor).get(address)
    if answer.streaming:
        hang_up(answer)
    if not _is_page(answer) or (answer.status_code in {403, 404} and address not in REFUSED):
        return None
    is_told = b'class="by-api' in answer.content or answer.status_code != 200 or address == DOCS
    tells = is_told or visitor is None
    return Seen(name=_name(world, visitor, address), address=address, visitor=visitor, tells_call=tells)


def send_forms_empty(world: World, address: str, visitor: User | None) -> Iterator[Seen]:
    """The answer to each form of the page sent empty. This changes nothing."""
    client = browser_of(visitor)
    for action in _Forms.of(client.get(address).content.decode()):
        target = urljoin(address, action)
        with transaction.atomic():
            answer = client.post(target, headers={"Sec-Fetch-Site": "same-origin"})
            transaction.set_rollback(True)
        if _is_page(answer) and answer.status_code != 403:
            name = f"{_name(world, visitor, target)}-sent-empty"
            seen = Seen(name=name, address=target, visitor=visitor, sent=answer.content, status=answer.status_code)
            yield replace(seen, policy=answer["Content-Security-Policy"])


def error_pages() -> Iterator[Seen]:
    """Every template at the root that is named for a status, and the maintenance page."""
    for template in [*sorted(TEMPLATES.glob("[45]??.html")), TEMPLATES / "maintenance.html"]:
        text = render_to_string(template.name, FACTS)
        yield Seen(name=f"error-{template.stem}", address=f"/error-{template.stem}", visitor=None, sent=text.encode())


def _is_page(answer: Any) -> bool:
    is_document = answer.headers.get("Content-Type", "").startswith("text/html") and not answer.streaming
    return is_document and not 300 <= answer.status_code < 400 and b"<html" in answer.content


def _name(world: World, visitor: User | None, address: str) -> str:
    """The name for the file of its picture."""
    who = "nobody" if visitor is None else "admin" if visitor == world.admin else "owner"
    path = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", lambda found: found[0][:4], address.strip("/"))
    return f"{world.name}-{who}-{re.sub(r'[^A-Za-z0-9]+', '-', path).strip('-') or 'list'}"


class _Forms(HTMLParser):
    """Where the forms of a page are sent to that change something, but for that of the top bar, which signs out."""

    def __init__(self) -> None:
        super().__init__()
        self.actions: list[str] = []

    @classmethod
    def of(cls, page: str) -> list[str]:
        forms = cls()
        forms.feed(page)
        return [
            action for action in dict.fromkeys(forms.actions) if "sign-out" not in action and "logout" not in action
        ]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "form" and (values.get("method") or "").lower() == "post":
            self.actions.append(values.get("action") or "")
