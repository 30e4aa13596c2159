"""Filters the list of projects by status and reason, which are derived and not columns of the database."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from accounts.text import check_hides_nothing
from projects.models import Project
from projects.rules.status.statuses import Status
from projects.services.staff.overview import Known, read_known_projects

LONGEST_REASON = 200

_KNOWN = "_berth_known_projects"


def _known_of(request: HttpRequest) -> list[Known]:
    """Returns all projects with their statuses, read once per request."""
    if not hasattr(request, _KNOWN):
        setattr(request, _KNOWN, read_known_projects(Project.objects.all()))
    known: list[Known] = getattr(request, _KNOWN)
    return known


class _DerivedFilter(admin.SimpleListFilter):
    """Offers the present values, with the number of projects for each."""

    def value_of(self, known: Known) -> str:
        raise NotImplementedError

    def name_of(self, value: str) -> str:
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterator[tuple[str, str]]:
        numbers = Counter(self.value_of(each) for each in _known_of(request))
        for value in sorted(filter(None, numbers)):
            yield value, f"{self.name_of(value)} ({numbers[value]})"

    def has_output(self) -> bool:
        """Also returns True if nothing matches a chosen value, because Django would otherwise drop the filter."""
        return super().has_output() or self.value() is not None

    def queryset(self, request: HttpRequest, queryset: QuerySet[Project]) -> QuerySet[Project]:
        wanted = self.value()
        if wanted is None:
            return queryset
        return queryset.filter(pk__in=[each.project.pk for each in _known_of(request) if self.value_of(each) == wanted])


class StatusFilter(_DerivedFilter):
    title = "status"
    parameter_name = "status"

    def value_of(self, known: Known) -> str:
        return known.status.value

    def name_of(self, value: str) -> str:
        return str(Status(value).label)


class ReasonFilter(_DerivedFilter):
    title = "reason"
    parameter_name = "reason"

    def value_of(self, known: Known) -> str:
        return known.reason.code if known.reason else ""

    def name_of(self, value: str) -> str:
        return value.replace("_", " ")


class ReasonForm(ActionForm):
    """The form next to the actions, with the reason of a suspension for the owner."""

    reason = forms.CharField(
        required=False,
        label="Why, for the owner",
        widget=forms.TextInput(attrs={"autocomplete": "off", "size": 28, "maxlength": LONGEST_REASON}),
    )


class StatusMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for the type checker only
    """Adds the columns for status and reason to the list."""

    @admin.display(description="status")
    def current_status(self, project: Project) -> str:
        status = project.status
        return format_html('<span class="status {}">{}</span>', status.traits.look, status.label)

    @admin.display(description="why")
    def why(self, project: Project) -> str:
        reason = project.reason
        return reason.message if reason else ""

    def read_reason(self, request: HttpRequest) -> str | None:
        """Returns the typed reason, or None after a message if it is not valid."""
        reason = request.POST.get("reason", "").strip()
        try:
            check_hides_nothing(reason)
            MaxLengthValidator(LONGEST_REASON)(reason)
        except ValidationError as error:
            self.message_user(request, f"Why, for the owner: {error.messages[0]} Nothing was done.", messages.ERROR)
            return None
        return reason
