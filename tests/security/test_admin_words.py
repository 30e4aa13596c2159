"""What the admin calls things: words, and not the names of columns.

Generated: a new model, field or filter is included.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from django.db.models import Model

from tests.clients import browser_of
from tests.security.admin_columns import admins, list_address
from tests.security.every_admin import AnyAdmin, every_admin
from tests.security.populated_service import PopulatedService

PLACES = {
    "title": r"<h1>([^:]*).*?</h1>",
    "header": r'<th scope="col"[^>]*>(.*?)</th>',
    "filter": r"<summary[^>]*>(.*?)</summary>",
    "choice": r'<ul class="changelist-filter-choices">(.*?)</ul>|<li[^>]*><a href="\?[^>]*>(.*?)</a>',
    "action": r"<option[^>]*>(.*?)</option>",
    "label": r"<label[^>]*>(.*?)</label>",
    "help": r'<div class="help[^>]*>(.*?)</div>',
}
CODE = re.compile(r"<code>.*?</code>|\bgsk_|[A-Z]+(_[A-Z]+)+|\{\w+\}", re.DOTALL)
"""What is to be typed as it is written."""
NO_WORD = re.compile(r"\w*[a-z0-9]_\w*|\b[a-z]+[A-Z]\w*|\bNone\b")


def pages_of(model: type[Model]) -> Iterator[str]:
    row: Any = model._default_manager.first()
    for page in ("", "add/", f"{row.pk}/change/", f"{row.pk}/delete/", f"{row.pk}/history/"):
        yield f"{list_address(model)}{page}"


def names_in(page: str) -> Iterator[tuple[str, str]]:
    for place, pattern in PLACES.items():
        for found in re.findall(pattern, page, re.DOTALL):
            text = found if isinstance(found, str) else "".join(found)
            yield place, " ".join(unescape(re.sub("<[^>]+>", " ", CODE.sub(" ", text))).split())


@every_admin
def test_everything_is_called_by_words(model_admin: AnyAdmin, service: PopulatedService) -> None:
    client, found = browser_of(service.admin), set[tuple[str, str]]()
    for address in pages_of(model_admin.model):
        found |= set(names_in(client.get(address).content.decode()))
    assert found
    assert {(place, text) for place, text in found if NO_WORD.search(text)} == set()


def test_a_column_s_name_would_be_noticed() -> None:
    assert [text for _, text in names_in("<summary>By second_factor</summary>") if NO_WORD.search(text)]
    assert len(admins()) > 10
