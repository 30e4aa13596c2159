"""Lists of the admin sort and search only by what they show, and read all rows of a page at once."""

import re
from datetime import date

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.admin_site.lookups import LONGEST_SEARCH, MOST_WORDS
from accounts.models import User
from projects.models import Project, Spending
from tests.clients import api_of, browser_of
from tests.deploying import deploy_project
from tests.factories import ApiKeyFactory
from tests.sampling import Some
from tests.security.admin_columns import SECRETS, admins, columns_of, list_address
from tests.security.every_admin import AnyAdmin, every_admin
from tests.security.populated_service import PopulatedService, add_to_quarantine

pytestmark = pytest.mark.one_database


@pytest.mark.sampled(2)
@every_admin
def test_lists_sort_only_by_visible_columns(model_admin: AnyAdmin, office: Client, some: Some) -> None:
    """Each column of the list, and numbers of columns that do not exist.
    A run takes them in turn up, down, and neither."""
    table = model_admin.opts.db_table
    shown = {name for name in model_admin.list_display if isinstance(name, str)}
    # A derived column may be sorted by what it is derived from, unless that is a secret.
    worked_out = {getattr(getattr(model_admin, name, None), "admin_order_field", None) for name in shown}
    secrets = {label.rpartition(".")[2] for label in SECRETS if label.startswith(f"{model_admin.opts.label_lower}.")}
    harmless = {
        field.column for field in columns_of(model_admin.model)
        if field.name in shown | worked_out or field.primary_key or field.name in {*_ordering(model_admin)}
    } - secrets  # fmt: skip
    for number, place in enumerate((*range(len(shown) + 3), -1, 99, 10**30)):
        for sign in some(("", "-", "--"), one_in=3, first=number):
            with CaptureQueriesContext(connection) as queries:
                assert office.get(list_address(model_admin.model), {"o": f"{sign}{place}"}).status_code == 200
            for query in queries:
                _, is_sorted, order = query["sql"].partition(f'FROM "{table}"')[2].rpartition("ORDER BY")
                columns = set(re.findall(rf'"{table}"\."(\w+)"', order)) if is_sorted else set()
                assert columns <= harmless, (place, order)


def _ordering(model_admin: AnyAdmin) -> list[str]:
    return [str(name).lstrip("-") for name in (model_admin.ordering or model_admin.opts.ordering)]


@pytest.mark.sampled(2)
@every_admin
def test_a_list_costs_the_same_queries_for_any_number_of_rows(
    model_admin: AnyAdmin, service: PopulatedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        project = deploy_project(api_of(service.alice), telegramToken=f"55{number}:another")
        Spending.objects.create(project=project, day=date(2026, 11, 22), month=date(2026, 11, 1))
        ApiKeyFactory.create(user=service.alice)
        add_to_quarantine(service.engine, service.alice)
    visitor, numbers = browser_of(service.admin), []
    for rows in (1, 100):
        monkeypatch.setattr(model_admin, "list_per_page", rows)
        assert visitor.get(list_address(model_admin.model)).status_code == 200
        with CaptureQueriesContext(connection) as queries:
            visitor.get(list_address(model_admin.model))
        numbers.append(len(queries))
    assert numbers[0] == numbers[1]


@every_admin
def test_a_search_covers_only_visible_columns(model_admin: AnyAdmin) -> None:
    fields = model_admin.fields or [column.name for column in columns_of(model_admin.model) if column.editable]
    shown = {str(name) for name in (*fields, *model_admin.list_display)}
    for path in model_admin.search_fields:
        first, _, rest = path.partition("__")
        assert first in shown, path
        assert rest in {"", "email"}, path


@pytest.mark.parametrize(
    "term", ["x" * (LONGEST_SEARCH + 1), "x " * (MOST_WORDS + 1), "%00", "\x00", "%" * 200, "' OR 1=1 --", '"']
)
def test_a_search_of_any_shape_is_answered(office: Client, term: str) -> None:
    for each in admins():
        assert office.get(list_address(each.model), {"q": term}).status_code == 200


def test_a_search_that_is_too_long_is_refused_without_a_query(office: Client, alice: User) -> None:
    page = office.get("/admin/accounts/user/", {"q": "a " * 500}).content.decode()
    assert "Search for at most 8 words and 254 characters." in page
    assert alice.email not in page
    assert alice.email in office.get("/admin/accounts/user/", {"q": "alice"}).content.decode()


@pytest.mark.rare(2)
def test_no_relation_can_be_searched_by_its_own_lookups(service: PopulatedService) -> None:
    """No form of the admin completes a field while the user types."""
    client = browser_of(service.admin)
    for model in apps.get_models():
        for field in model._meta.get_fields(include_hidden=True):
            query = {
                "app_label": model._meta.app_label, "model_name": model.__name__.lower(), "field_name": field.name,
                "term": "a",
            }  # fmt: skip
            assert client.get("/admin/autocomplete/", query).status_code == 404, field
    assert client.get("/admin/autocomplete/").status_code == 404


def test_a_declared_search_field_works(service: PopulatedService, monkeypatch: pytest.MonkeyPatch) -> None:
    """This shows that the others are refused because they are not declared."""
    project_admin = admin.site._registry[Project]
    monkeypatch.setattr(project_admin, "autocomplete_fields", ("owner",))
    query = {"app_label": "projects", "model_name": "project", "field_name": "owner", "term": "alice"}
    answer = browser_of(service.staff).get("/admin/autocomplete/", query).json()
    assert answer["results"] == [{"id": str(service.alice.pk), "text": service.alice.email}]
