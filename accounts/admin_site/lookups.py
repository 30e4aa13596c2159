"""Limits the query parameters of admin pages to the declared filters.

By default Django filters a list by every column, shown or not, and by every lookup, through relations too: with
`password__startswith=…` anyone who sees the list reads a hash letter by letter, and `name__regex=…` uses unlimited
processor time.
"""

import re
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.filters import FieldListFilter
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import get_fields_from_path
from django.core.exceptions import BadRequest, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from accounts import audit
from accounts.text import has_control_characters

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    _Base = ModelAdmin[Any]
else:
    _Base = object

LONGEST_SEARCH = 254
"""In characters: the longest email address."""

MOST_WORDS = 8
"""Each word of a search is looked for in each of the search fields."""

_DATE_PARTS = {
    "year": re.compile(r"[12][0-9]{3}"),
    "month": re.compile(r"[0-9]{1,2}"),
    "day": re.compile(r"[0-9]{1,2}"),
}


class DeclaredLookups(_Base):
    """For a ModelAdmin: the address of a list takes the parameters of `list_filter` and `date_hierarchy` only."""

    _filter_parameters: frozenset[str] | None = None

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Returns False for an undeclared lookup, which becomes a 400. Django asks before it looks at the database."""
        allowed = self._is_declared(lookup, str(value), request) and not has_control_characters(str(value))
        if not allowed:
            audit.record("admin_lookup_refused", by=request.user.pk, what=self.opts.model_name)
        return allowed

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        """Allows references by primary key only, because the addresses of rows contain it anyway."""
        return to_field in {self.opts.pk.name, self.opts.pk.attname}

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        if has_control_characters(object_id):  # PostgreSQL takes no NUL
            return None
        return super().get_object(request, object_id, from_field)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **options: Any
    ) -> HttpResponse | None:
        """Answers 400 if a selected key is malformed, because Django would pass it to the database."""
        for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(key, None)
            except ValidationError:
                raise BadRequest("The selection contains something that is not the key of a row.") from None
            if has_control_characters(key):
                raise BadRequest("The selection contains something that is not the key of a row.")
        return super().response_action(request, queryset, *args, **options)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if len(search_term) > LONGEST_SEARCH or len(search_term.split()) > MOST_WORDS:
            sentence = f"Search for at most {MOST_WORDS} words and {LONGEST_SEARCH} characters."
            messages.warning(request, sentence)
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def _is_declared(self, lookup: str, value: str, request: HttpRequest) -> bool:
        field, _, part = lookup.rpartition("__")
        if self.date_hierarchy and field == self.date_hierarchy and part in _DATE_PARTS:
            return _DATE_PARTS[part].fullmatch(value) is not None
        if self._filter_parameters is None:
            self._filter_parameters = frozenset(self._find_filter_parameters(request))
        return lookup in self._filter_parameters

    def _find_filter_parameters(self, request: HttpRequest) -> set[str]:
        """Asks each filter for the names of its parameters."""
        names: set[str] = set()
        for declared in self.get_list_filter(request):
            if isinstance(declared, type):
                spec = declared(request, {}, self.model, self)
            else:
                path, create = declared if isinstance(declared, tuple) else (declared, FieldListFilter.create)
                field = get_fields_from_path(self.model, str(path))[-1]
                spec = create(field, request, {}, self.model, self, field_path=str(path))
            names.update(name for name in spec.expected_parameters() if name is not None)
        return names
