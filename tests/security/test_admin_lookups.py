"""The addresses of the admin ask for nothing but what its lists declare. Generated: a new admin or column is in."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.filters import SimpleListFilter
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from accounts import audit
from accounts.admin_lookups import LONGEST_SEARCH, MOST_WORDS
from accounts.admin_site import BerthAdminSite
from accounts.models import User
from projects.models import Project
from tests.clients import browser_of
from tests.security.admin_columns import (
    SECRETS,
    admins,
    all_lookups,
    columns_of,
    list_address,
    lookups_of,
    paths_from,
    secret_columns,
)
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes

pytestmark = pytest.mark.one_database

every_admin = pytest.mark.parametrize("model_admin", admins(), ids=lambda each: each.model._meta.label)
AnyAdmin = Any  # ModelAdmin is generic for the type checker only
HOSTILE = ("startswith", "regex", "")
ALONGSIDE = ("", "&_facets=True", "&e=1", "&_popup=1", "&o=1.-2", "&q=a", "&all=", "&p=1", "&_to_field=id")
"""What may stand beside a lookup without opening a way for it."""


@pytest.fixture
def office(sam: User) -> Client:
    """The admin as staff see it."""
    return browser_of(sam)


def declared_paths(model_admin: AnyAdmin) -> set[str]:
    """The columns that the lists may be filtered by, from the declarations themselves."""
    paths = {model_admin.date_hierarchy or ""}
    for declared in model_admin.list_filter:
        if isinstance(declared, type) and issubclass(declared, SimpleListFilter):
            paths.add(str(declared.parameter_name))
        else:
            paths.add(str(declared[0] if isinstance(declared, tuple) else declared))
    return paths - {""}


HARMLESS = re.compile(r"(__(exact|isnull|isempty|gte|lt|year|month|day))?")


@every_admin
def test_no_lookup_but_those_of_the_declared_filters_is_taken(
    model_admin: AnyAdmin, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every column of every table within reach, by every lookup and transform of the column."""
    monkeypatch.setattr(audit, "record", lambda *_, **__: None)  # tens of thousands of lines; another test reads one
    request = RequestFactory().get("/")
    request.user = sam
    names = set(all_lookups(model_admin.model))
    assert len(names) > 500
    taken = {name for name in names if model_admin.lookup_allowed(name, "1", request)}
    allowed = set()
    for path in declared_paths(model_admin):
        field = model_admin.opts.get_field(path) if "__" not in path else None
        target = f"{path}__{field.target_field.name}" if field and field.is_relation else path
        allowed |= {name for name in names if name.startswith(path) and HARMLESS.fullmatch(name.removeprefix(target))}
        allowed |= {f"{path}__isnull"}
    assert taken <= allowed
    assert bool(taken) == bool(declared_paths(model_admin))


@every_admin
def test_a_column_of_its_own_is_refused_over_http(model_admin: AnyAdmin, office: Client) -> None:
    address, declared = list_address(model_admin.model), declared_paths(model_admin)
    for column in columns_of(model_admin.model):
        for lookup in HOSTILE:
            if lookup or column.name not in declared:
                name = f"{column.name}__{lookup}".removesuffix("__")
                assert office.get(address, {name: "1"}).status_code == 400, name


def ways_to_secrets() -> list[tuple[str, str]]:
    """The address of each list, with each path from its table to each secret column."""
    secrets = {(model, name) for model, name in secret_columns()}
    return [
        (list_address(each.model), path)
        for each in admins()
        for path, column in paths_from(each.model)
        if (column.model, column.name) in secrets
    ]


def test_there_are_ways_to_the_secrets() -> None:
    """Otherwise the next test would ask for nothing."""
    ways = ways_to_secrets()
    assert ("/admin/accounts/apikey/", "user__password") in ways
    assert ("/admin/projects/project/", "owner__second_factor__secret_ciphertext") in ways
    assert len(ways) > 15
    assert len(SECRETS) == len(set(secret_columns()))


@pytest.mark.parametrize(("address", "path"), ways_to_secrets())
def test_no_secret_column_is_read_letter_by_letter(office: Client, address: str, path: str) -> None:
    for lookup in ("", "startswith", "regex", "gt"):
        name = f"{path}__{lookup}".removesuffix("__")
        assert office.get(f"{address}?{name}=a").status_code == 400, name


@every_admin
@pytest.mark.parametrize("alongside", ALONGSIDE)
def test_nothing_that_stands_beside_it_opens_a_way(model_admin: AnyAdmin, office: Client, alongside: str) -> None:
    address = list_address(model_admin.model)
    path = next((path for listed, path in ways_to_secrets() if listed == address), "source")
    for query in (f"{path}__regex=^.{alongside}", f"{alongside.lstrip('&')}&{path}__startswith=a"):
        assert office.get(f"{address}?{query}").status_code == 400
        assert office.post(f"{address}?{query}", {"action": "x", "_selected_action": "x"}).status_code == 400


def test_the_attack_of_the_issue_learns_nothing(office: Client, ada: User) -> None:
    for guess in (ada.password[:5], "x"):
        answer = office.get("/admin/accounts/user/", {"email": ada.email, "password__startswith": guess})
        assert answer.status_code == 400


def test_a_regular_expression_never_reaches_the_database(office: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert office.get("/admin/projects/project/?name__regex=(a%2B)%2B%24").status_code == 400
    assert not [query for query in queries if "REGEXP" in query["sql"] or "(a+)+" in query["sql"]]


FILTERS = {
    "/admin/accounts/user/": "?is_active__exact=1&is_staff__exact=0&is_superuser__exact=0",
    "/admin/accounts/apikey/": "?scope__exact=write&revoked_at__isempty=1",
    "/admin/projects/project/": "?desired__exact=running&plan__slug__exact=basic&suspended_at__isempty=1",
    "/admin/projects/event/": "?action=deploy&outcome=requested&at__year=2026&at__month=11&at__day=3",
}


@pytest.mark.parametrize(("address", "query"), FILTERS.items())
@pytest.mark.parametrize("alongside", ALONGSIDE)
def test_the_declared_filters_work(office: Client, address: str, query: str, alongside: str) -> None:
    assert office.get(address + query + alongside).status_code == 200


@every_admin
def test_every_filter_that_the_page_links_to_works(model_admin: AnyAdmin, service: PopulatedService) -> None:
    """The links of the sidebar and of the dates, with and without their counts."""
    client, address = browser_of(service.staff), list_address(model_admin.model)
    for page in (address, f"{address}?_facets=True"):
        links = set(re.findall(r'href="(\?[^"]+)"', client.get(page).content.decode()))
        for link in links:
            assert client.get(address + link.replace("&amp;", "&")).status_code == 200, link


@pytest.mark.parametrize(
    "query",
    [
        "at__year=9999", "at__year=99999999999999999999", "at__year=0", "at__year=-1", "at__year=x", "at__year=",
        "at__month=99999999999999999999", "at__day=1e3", "at__year=٢٠٢٦", "action=%00", "at__gte=2026-01-01",
        "at__date=2026-01-01", "at__year__gt=2000", "no_such_column=1", "pk=1", "pk__in=1,2", "_changelist_filters=x",
    ],
)  # fmt: skip
def test_what_is_no_date_and_no_filter_is_refused(office: Client, query: str) -> None:
    assert office.get(f"/admin/projects/event/?{query}").status_code == 400


# -- other parameters -------------------------------------------------------------------------------------------------


@every_admin
def test_rows_are_referred_to_by_their_primary_keys_only(model_admin: AnyAdmin, service: PopulatedService) -> None:
    request, model = RequestFactory().get("/"), model_admin.model
    columns = columns_of(model)
    allowed = {column.name for column in columns if model_admin.to_field_allowed(request, column.name)}
    assert allowed == {model._meta.pk.name}
    client, row, other = browser_of(service.admin), model._default_manager.first(), columns[-1].name
    key = row.pk if row else "nothing"
    for page in ("", "add/", f"{key}/change/", f"{key}/delete/"):
        address, values = f"{list_address(model)}{page}", {"_popup": "1", "_to_field": other, "post": "yes"}
        assert client.get(address, values).status_code in {400, 403}, address
        if page:
            assert client.post(address, values).status_code in {400, 403}, address


@every_admin
def test_lists_are_sorted_by_what_they_show_only(model_admin: AnyAdmin, office: Client) -> None:
    """Each column of the list, both ways, and places where there is no column."""
    table = model_admin.opts.db_table
    shown = {name for name in model_admin.list_display if isinstance(name, str)}
    harmless = {
        field.column for field in columns_of(model_admin.model)
        if field.name in shown or field.primary_key or field.name in {*_ordering(model_admin)}
    }  # fmt: skip
    for place in (*range(len(shown) + 3), -1, 99, 10**30):
        for sign in ("", "-", "--"):
            with CaptureQueriesContext(connection) as queries:
                assert office.get(list_address(model_admin.model), {"o": f"{sign}{place}"}).status_code == 200
            for query in queries:
                _, is_sorted, order = query["sql"].partition(f'FROM "{table}"')[2].rpartition("ORDER BY")
                columns = set(re.findall(rf'"{table}"\."(\w+)"', order)) if is_sorted else set()
                assert columns <= harmless, (place, order)


def _ordering(model_admin: AnyAdmin) -> list[str]:
    return [str(name).lstrip("-") for name in (model_admin.ordering or model_admin.opts.ordering)]


@every_admin
def test_a_search_looks_at_what_is_shown_only(model_admin: AnyAdmin) -> None:
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


def test_a_search_that_is_too_long_asks_nothing_of_the_table_and_says_why(office: Client, alice: User) -> None:
    page = office.get("/admin/accounts/user/", {"q": "a " * 500}).content.decode()
    assert "Search for at most 8 words and 254 characters." in page
    assert alice.email not in page
    assert alice.email in office.get("/admin/accounts/user/", {"q": "alice"}).content.decode()


def test_no_relation_answers_to_a_search_of_its_own(service: PopulatedService) -> None:
    """No form of the admin completes a field while one types."""
    client = browser_of(service.admin)
    for model in apps.get_models():
        for field in model._meta.get_fields(include_hidden=True):
            query = {
                "app_label": model._meta.app_label, "model_name": model.__name__.lower(), "field_name": field.name,
                "term": "a",
            }  # fmt: skip
            assert client.get("/admin/autocomplete/", query).status_code == 404, field
    assert client.get("/admin/autocomplete/").status_code == 404


def test_a_declared_field_answers(service: PopulatedService, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is the declaration that the others lack."""
    project_admin = admin.site._registry[Project]
    monkeypatch.setattr(project_admin, "autocomplete_fields", ("owner",))
    query = {"app_label": "projects", "model_name": "project", "field_name": "owner", "term": "alice"}
    answer = browser_of(service.staff).get("/admin/autocomplete/", query).json()
    assert answer["results"] == [{"id": str(service.alice.pk), "text": service.alice.email}]


def test_no_address_tells_which_rows_of_a_table_there_are(service: PopulatedService) -> None:
    kind = ContentType.objects.get_for_model(User).pk
    for key in (service.admin.pk, "nothing"):
        assert browser_of(service.staff).get(f"/admin/r/{kind}/{key}/").status_code == 404


# -- pages ------------------------------------------------------------------------------------------------------------


def test_no_page_of_the_admin_shows_a_secret_column(service: PopulatedService) -> None:
    """Every page of every row, to staff and to admins: lists, forms, histories, deletions."""
    values = {
        str(value) for model, column in secret_columns()
        for value in model._default_manager.values_list(column, flat=True) if value
    }  # fmt: skip
    assert len(values) > 5
    for user in (service.staff, service.admin):
        client = browser_of(user)
        for address in {*_pages(service)}:
            page = client.get(address).content.decode()
            assert not [value for value in values if value in page], address


def _pages(service: PopulatedService) -> set[str]:
    fixed = {address_of(route, service.route_parameters) for route in page_routes() if route.startswith("/admin/")}
    rows = {
        f"{list_address(each.model)}{row.pk}/{page}/"
        for each in admins() for row in each.model._default_manager.all()
        for page in ("change", "history", "delete")
    }  # fmt: skip
    return {*fixed, *rows} - {"/admin/logout/"}


@every_admin
@pytest.mark.parametrize("key", ["%00", "x", "99999999999999999999999", "-1", "%F0%9F%98%80", "a" * 300])
def test_a_key_of_any_shape_is_answered(model_admin: AnyAdmin, ada: User, key: str) -> None:
    client = browser_of(ada)
    for page in ("change", "history", "delete"):
        assert client.get(f"{list_address(model_admin.model)}{key}/{page}/").status_code in {302, 403, 404}


@every_admin
@pytest.mark.parametrize("key", ["x", "\x00", "", "9" * 30, "-1", "%", "a" * 5000])
def test_a_selection_of_any_shape_is_answered(model_admin: AnyAdmin, ada: User, key: str) -> None:
    client = browser_of(ada)
    request = RequestFactory().get("/")
    request.user = ada
    for action in (*model_admin.get_actions(request), "no_such_action"):
        values = {"action": action, "_selected_action": key, "index": "0"}
        assert client.post(list_address(model_admin.model), values).status_code in {200, 302, 400}, action


# -- the walls themselves ---------------------------------------------------------------------------------------------


def test_an_admin_without_the_rule_keeps_the_service_from_starting() -> None:
    site = BerthAdminSite()
    site.register(User, type("Loose", (ModelAdmin,), {}))
    with pytest.raises(ImproperlyConfigured, match="Loose must derive from DeclaredLookups"):
        site.get_urls()


def test_djangos_own_rule_would_let_the_attack_through(sam: User) -> None:
    """So it is ours that refuses it."""
    request = RequestFactory().get("/")
    request.user = sam
    loose = ModelAdmin(User, admin.site)
    ours = admin.site._registry[User]
    taken = {name for name in all_lookups(User) if loose.lookup_allowed(name, "1", request)}
    assert "password__regex" in taken
    assert "password__regex" not in {name for name in taken if ours.lookup_allowed(name, "1", request)}
    assert {"startswith", "regex"} <= set(lookups_of(User._meta.get_field("password")))


def test_a_refusal_is_audited_without_what_was_asked(
    office: Client, sam: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="berth.audit")
    office.get("/admin/accounts/user/?password__startswith=pbkdf2")
    assert f"admin_lookup_refused by={sam.pk} what=user" in caplog.text
    assert "pbkdf2" not in "".join(record.getMessage() for record in caplog.records if record.name == "berth.audit")
