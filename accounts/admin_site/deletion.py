"""Deletion in the admin: how many rows one question covers, and why a row is kept."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin import actions
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from accounts.admin_site.confirmation import SHOWN

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    _Base = ModelAdmin[Any]
else:
    _Base = object


@admin.action(permissions=["delete"], description="Delete selected %(verbose_name_plural)s")
def delete_selected(model_admin: Any, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse | None:
    """Django's action of this name for the first `SHOWN` rows: its page has a field for each, and Django reads at most
    a thousand.
    """
    rows = chosen.filter(pk__in=list(chosen.values_list("pk", flat=True)[:SHOWN]))
    answer = actions.delete_selected(model_admin, request, rows)
    if isinstance(answer, TemplateResponse):
        left = chosen.count() - SHOWN
        answer.context_data = {**(answer.context_data or {}), "shown": SHOWN, "left": max(left, 0)}
    return answer


class ExplainedDeletion(_Base):
    """For a ModelAdmin: a page that deletes rows says in a sentence why one of them is kept, and what to do instead."""

    def describe_kept(self, request: HttpRequest, row: Any) -> str:
        """Returns why the row is not deleted. Empty if it can be."""
        return "" if self.has_delete_permission(request, row) else f"You may not delete “{row}”."

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, set[str], list[Any]]:
        """Asks for the right to delete these rows only, because what belongs to them goes with them.

        Django shows its last value instead of the question, and deletes nothing if there is one.
        """
        shown, numbers, _, protected = super().get_deleted_objects(objs, request)
        shown = _shorten(shown)
        kept = [sentence for row in objs if (sentence := self.describe_kept(request, row))]
        return shown, numbers, set(), kept or protected


def _shorten(lines: list[Any]) -> list[Any]:
    """Returns the first lines of each level of a nested list, what belongs to them, and how many others there are."""
    kept, number = list[Any](), 0
    for line in lines:
        number += not isinstance(line, list)
        if number <= SHOWN:
            kept.append(_shorten(line) if isinstance(line, list) else line)
    return [*kept, f"{number - SHOWN} more"] if number > SHOWN else kept
