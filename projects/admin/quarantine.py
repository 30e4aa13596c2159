"""The quarantine in the admin: agents without a project, to be adopted or deleted."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.html import format_html

from accounts import clock
from accounts.admin_site.confirmation import asks_first
from accounts.admin_site.permissions import ReadableByStaff
from containers.errors import EngineError
from projects.admin.actors import actor_of
from projects.admin.logs import OutputNotedMixin
from projects.errors import CannotAdoptError
from projects.models import Quarantined
from projects.models.installation import read_hold
from projects.services.inventory.decisions import (
    adopt_from_quarantine,
    delete_from_quarantine,
    describe_overdue,
    find_owner,
    find_owners,
)
from projects.services.staff.first_rows import FirstRows


class HoldWarningMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Shows above the list why nothing is repaired, if repairs are on hold."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        because = read_hold()
        if because and request.method == "GET":
            self.message_user(request, because, messages.ERROR)
        return super().changelist_view(request, extra_context)


def describe_entry(entry: Quarantined) -> str:
    owner = find_owner(entry)
    return f"{entry}, of {owner.email if owner else 'an unknown owner'}, since {entry.since:%Y-%m-%d}"


class OwnedChangeList(ChangeList):
    """Finds the owners of all rows of a page at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        owners = find_owners(self.result_list)
        for entry in self.result_list:
            entry.found_owner = owners.get(entry.owner_key)


class QuarantinedAdmin(ReadableByStaff, HoldWarningMixin, OutputNotedMixin):
    """Agents in quarantine. Berth never deletes them by itself; overdue ones are marked and named above the list."""

    list_display = ("key", "owner", "container_name", "generation", "since", "kept_until", "needs_a_decision")
    search_fields = ("key", "owner_key", "container_name")
    actions = ("adopt", "delete_for_good")
    output_field = "log"
    fields = (
        "key",
        "owner",
        "owner_key",
        "container_name",
        "generation",
        "instance",
        "since",
        "kept_until",
        "last_log",
    )
    readonly_fields = fields

    @admin.display(description="kept until")
    def kept_until(self, row: Quarantined) -> str:
        return str(date_format(row.kept_until, "DATETIME_FORMAT"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Quarantined]:
        return super().get_queryset(request).defer("log")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return OwnedChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        waiting = describe_overdue()
        if waiting and request.method == "GET":
            self.message_user(request, waiting, messages.WARNING)
        return super().changelist_view(request, extra_context)

    @admin.display(description="kept for 30 days or longer", boolean=True)
    def needs_a_decision(self, entry: Quarantined) -> bool:
        return entry.is_overdue(clock.now())

    @admin.display(description="what it printed last")
    def last_log(self, entry: Quarantined) -> str:
        return format_html("<pre>{}</pre>", entry.log) if entry.log else "No log was kept."

    @admin.display(description="owner")
    def owner(self, entry: Any) -> str:
        owner = entry.found_owner if hasattr(entry, "found_owner") else find_owner(entry)
        return owner.email if owner else "unknown"

    @admin.action(description="Adopt: make a stopped project of it, for its owner")
    def adopt(self, request: HttpRequest, chosen: QuerySet[Quarantined]) -> None:
        actor = actor_of(request)
        self._each(request, chosen, lambda entry: adopt_from_quarantine(entry=entry, actor=actor))

    @asks_first(
        verb="Delete",
        consequence="The containers and what the agents remember are removed permanently.",
        typed=True,
        describe=describe_entry,
    )
    @admin.action(description="Delete, with container and state")
    def delete_for_good(self, request: HttpRequest, chosen: QuerySet[Quarantined]) -> None:
        actor = actor_of(request)
        self._each(request, chosen, lambda entry: delete_from_quarantine(entry=entry, actor=actor))

    def _each(self, request: HttpRequest, chosen: QuerySet[Quarantined], act: Callable[[Quarantined], object]) -> None:
        entries, refused = list(chosen), list[str]()
        for entry in entries:
            try:
                act(entry)
            except (CannotAdoptError, EngineError) as error:
                refused.append(format_html("{}: {}", entry.key, error))
        shown = FirstRows(refused)
        for sentence in shown:
            self.message_user(request, sentence, messages.ERROR)
        if shown.more:
            self.message_user(request, f"{shown.more} more were refused.", messages.ERROR)
        done = len(entries) - len(refused)
        if done:
            self.message_user(request, f"Done: {done} of {len(entries)}.", messages.SUCCESS)
