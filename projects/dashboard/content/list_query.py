"""The query of a list: a status, a text, an order and a page. All of it is in the address."""

from dataclasses import dataclass, replace
from typing import Any, Self

from django.db.models import TextChoices
from django.http import QueryDict

from projects.rules.status.statuses import Status
from projects.services.lists.selection import LONGEST_TEXT


class Order(TextChoices):
    TROUBLE = "trouble", "Trouble first"
    NEWEST = "newest", "Newest first"
    OLDEST = "oldest", "Oldest first"
    NAME = "name", "By name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """A query. No address is refused, because invalid parameters are ignored."""

    status: Status | None = None
    text: str = ""
    order: Order = Order.TROUBLE
    page: int = 1

    @classmethod
    def read(cls, sent: QueryDict) -> Self:
        status, order, page = (sent.get(name, "") for name in ("status", "sort", "page"))
        return cls(
            status=Status(status) if status in Status.values else None,
            text=sent.get("q", "").replace("\0", "").strip()[:LONGEST_TEXT],
            order=Order(order) if order in Order.values else Order.TROUBLE,
            page=int(page) if page.isascii() and page.isdecimal() and len(page) < 6 else 1,
        )

    @property
    def is_narrow(self) -> bool:
        """Whether the query may leave out projects."""
        return bool(self.status or self.text)

    def change(self, **values: Any) -> str:
        """Returns the address of the list with these values changed, on its first page unless a page is given."""
        return replace(self, **{"page": 1, **values}).address

    @property
    def address(self) -> str:
        """The part of the address after the path, without default values."""
        sent = QueryDict(mutable=True)
        if self.status:
            sent["status"] = self.status.value
        if self.text:
            sent["q"] = self.text
        if self.order is not Order.TROUBLE:
            sent["sort"] = self.order.value
        if self.page > 1:
            sent["page"] = str(self.page)
        return f"?{sent.urlencode()}" if sent else ""
