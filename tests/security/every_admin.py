"""Every model that the admin shows, and what its addresses may query."""

import re
from typing import Any

import pytest
from django.contrib.admin.filters import SimpleListFilter

from tests.security.admin_columns import admins

every_admin = pytest.mark.parametrize("model_admin", admins(), ids=lambda each: each.model._meta.label)


AnyAdmin = Any  # ModelAdmin is generic for the type checker only
HOSTILE = ("startswith", "regex", "")
ALONGSIDE = ("", "&_facets=True", "&e=1", "&_popup=1", "&o=1.-2", "&q=a", "&all=", "&p=1", "&_to_field=id")
"""What may accompany a lookup without making it allowed."""


def declared_paths(model_admin: AnyAdmin) -> set[str]:
    """The columns by which the lists may be filtered, from the declarations themselves."""
    paths = {model_admin.date_hierarchy or ""}
    columns = {field.name for field in model_admin.opts.get_fields()}
    for declared in model_admin.list_filter:
        if isinstance(declared, type) and issubclass(declared, SimpleListFilter):
            paths |= {str(declared.parameter_name)} & columns  # a derived value is not a column
        else:
            paths.add(str(declared[0] if isinstance(declared, tuple) else declared))
    return paths - {""}


def links_of(page: str) -> dict[str, str]:
    """The links of a list to itself, by what they request in addition to the counts."""
    found = (link.replace("&amp;", "&") for link in re.findall(r'href="(\?[^"]+)"', page))
    return {re.sub(r"_facets=True&?|&_facets=True", "", link): link for link in found}
