"""The list of somebody's projects: which rows a page of it has, in which order, and how many there are of each status.

A status is derived and never stored, so that all rows of the owner are read for any filter: a few columns of each, in
one query. Another one reads the last event of each row that is shown.
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
from projects.services.lists.selection import NEWEST_FIRST, OLDEST_FIRST, TROUBLE_FIRST, Known, know, select
from projects.services.lists.sorted_pages import numbered
from projects.services.observation import refresh

PAGE = 25
"""Rows of a page."""

SORT_OF = {
    Order.TROUBLE: TROUBLE_FIRST,
    Order.NEWEST: NEWEST_FIRST,
    Order.OLDEST: OLDEST_FIRST,
    Order.NAME: "name",
}

UNSHOWN = ("settings", "log_tail", "telegram_token_ciphertext", "api_key_ciphertext")


class Chip(NamedTuple):
    """A filter by status. `status` is None for all."""

    status: Status | None
    label: str
    look: str
    number: int
    address: str
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class ProjectList:
    """One page of the list, as of one moment. `total` are the projects that the query finds, `trouble` those of all
    that need attention; `steadiness` is that of all the rows that were read."""

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
        """Differs where the page has other rows, has them in another order, or has other neighbours."""
        return make_digest([self.page, self.pages, *(row.id for row in self.rows)])

    @cached_property
    def seen_counts(self) -> str:
        return make_digest([self.chips, self.total, self.owned, self.trouble])


def read_list(projects: "QuerySet[Project]", query: ListQuery) -> ProjectList:
    """The page that the query asks for, or the last one where it asks for one beyond. Asks the engine about rows that
    nobody watches."""
    read = list(projects.defer(*UNSHOWN))
    refresh(read)
    now = clock.now()
    known = know((project, project.facts(now)) for project in read)
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
    """All, then each status that there is, in the order of urgency; and the one that is asked for, if none has it."""
    numbers = Counter(each.status for each in matching)
    looks = {status: ORDER.index(TRAITS[status].look) for status in Status}
    shown = sorted((status for status in Status if numbers[status] or status is query.status), key=looks.__getitem__)
    chips = [Chip(None, "All", "", len(matching), query.change(status=None), query.status is None)]
    return chips + [
        Chip(each, each.label, each.traits.look, numbers[each], query.change(status=each), query.status is each)
        for each in shown
    ]
