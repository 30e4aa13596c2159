"""A page of an owner's list of projects: its rows, their order, and the number of projects by status.

A status is derived and never stored, so a filter needs a few columns of all of the owner's rows, read with one query.
Another query reads the last event of each shown row.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from django.db.models import QuerySet

from accounts import clock
from projects.dashboard.content.list_query import ListQuery, Order
from projects.dashboard.content.project_rows import Row, make_digest, show_rows
from projects.models import Project
from projects.models.rows.steadiness import Steadiness, find_steadiness
from projects.rules.status.statuses import TRAITS, Status
from projects.rules.status.urgency import ORDER
from projects.services.lists.selection import NEWEST_FIRST, OLDEST_FIRST, TROUBLE_FIRST, Known, select, with_statuses
from projects.services.lists.sorted_pages import numbered
from projects.services.observation import refresh

PAGE = 25
"""The number of rows on a page."""

SORT_OF = {
    Order.TROUBLE: TROUBLE_FIRST,
    Order.NEWEST: NEWEST_FIRST,
    Order.OLDEST: OLDEST_FIRST,
    Order.NAME: "name",
}

UNSHOWN = ("settings", "log_tail", "telegram_token_ciphertext", "api_key_ciphertext")


class Chip(NamedTuple):
    """A filter by status. `status` is None for all projects."""

    status: Status | None
    label: str
    look: str
    number: int
    address: str
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class ProjectList:
    """One page of the list at one moment. `total` counts the projects that the query finds, and `trouble` all projects
    that need attention; `steadiness` is that of all rows read."""

    query: ListQuery
    page: int
    pages: int
    rows: Sequence[Row]
    chips: Sequence[Chip]
    total: int
    owned: int
    trouble: int
    steadiness: Steadiness | None

    @property
    def earlier(self) -> str | None:
        return self.query.change(page=self.page - 1) if self.page > 1 else None

    @property
    def later(self) -> str | None:
        return self.query.change(page=self.page + 1) if self.page < self.pages else None

    @cached_property
    def seen_order(self) -> str:
        """A digest that differs if the page has other rows, another order, or other neighbouring pages."""
        return make_digest([self.page, self.pages, *(row.id for row in self.rows)])

    @cached_property
    def seen_counts(self) -> str:
        return make_digest([self.chips, self.total, self.owned, self.trouble])


def read_list(projects: "QuerySet[Project]", query: ListQuery) -> ProjectList:
    """Returns the requested page, or the last one if there are fewer. Asks the engine about rows that are not fresh."""
    read = list(projects.defer(*UNSHOWN))
    refresh(read)
    now = clock.now()
    known = with_statuses((project, project.facts(now)) for project in read)
    statuses = (query.status.value,) if query.status else ()
    selection = select(known, statuses=statuses, text=query.text.casefold(), sort=SORT_OF[query.order])
    rows, page, pages = numbered(selection.chosen, page=query.page, size=PAGE)
    return ProjectList(
        query=query,
        page=page,
        pages=pages,
        rows=show_rows([each for _, each in rows]),
        chips=_make_chips(selection.found, query),
        total=len(selection.chosen),
        owned=len(known),
        trouble=sum(each.needs_attention for each in known),
        steadiness=find_steadiness(read),
    )


def _make_chips(matching: Sequence[Known[Project]], query: ListQuery) -> list[Chip]:
    """Returns the filters: all, then each present or requested status in order of urgency."""
    numbers = Counter(each.status for each in matching)
    looks = {status: ORDER.index(TRAITS[status].look) for status in Status}
    shown = sorted((status for status in Status if numbers[status] or status is query.status), key=looks.__getitem__)
    chips = [Chip(None, "All", "", len(matching), query.change(status=None), query.status is None)]
    return chips + [
        Chip(each, each.label, each.traits.look, numbers[each], query.change(status=each), query.status is each)
        for each in shown
    ]
