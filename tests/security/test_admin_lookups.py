"""The addresses of the admin query only what its lists declare. Generated: a new admin or column is included."""

import re

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from accounts import audit
from accounts.admin_site.site import BerthAdminSite
from accounts.models import User
from tests.clients import browser_of
from tests.sampling import Some
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
from tests.security.every_admin import ALONGSIDE, HOSTILE, AnyAdmin, declared_paths, every_admin, links_of
from tests.security.populated_service import PopulatedService

pytestmark = pytest.mark.one_database

HARMLESS = re.compile(r"(__(exact|isnull|isempty|gte|lt|year|month|day))?")


@every_admin
def test_only_lookups_of_the_declared_filters_are_accepted(
    model_admin: AnyAdmin, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every column of every reachable table, by every lookup and transform of the column."""
    monkeypatch.setattr(audit, "record", lambda *_, **__: None)  # tens of thousands of lines; another test reads one
    request = RequestFactory().get("/")
    request.user = sam
    names = set(all_lookups(model_admin.model))
    assert len(names) > 300
    taken = {name for name in names if model_admin.lookup_allowed(name, "1", request)}
    allowed = {f"{path}__isnull" for path in declared_paths(model_admin)}
    for path in declared_paths(model_admin):
        field = model_admin.opts.get_field(path) if "__" not in path else None
        target = f"{path}__{field.target_field.name}" if field and field.is_relation else path
        allowed |= {name for name in names if name.startswith(path) and HARMLESS.fullmatch(name.removeprefix(target))}
    assert taken <= allowed
    assert bool(taken) == bool(declared_paths(model_admin))


@every_admin
def test_an_undeclared_column_is_refused_over_http(model_admin: AnyAdmin, office: Client, some: Some) -> None:
    """A run queries each column by one lookup, another one for the next column. The rule is checked for all above."""
    address, declared = list_address(model_admin.model), declared_paths(model_admin)
    for number, column in enumerate(columns_of(model_admin.model)):
        for lookup in some(HOSTILE, one_in=len(HOSTILE), first=number):
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


def test_there_are_relations_that_lead_to_secrets() -> None:
    """Otherwise the next test would check nothing."""
    ways = ways_to_secrets()
    assert ("/admin/accounts/apikey/", "user__password") in ways
    assert ("/admin/projects/project/", "owner__second_factor__secret_ciphertext") in ways
    assert len(ways) > 15
    assert len(SECRETS) == len(set(secret_columns()))


@pytest.mark.parametrize("address", sorted({address for address, _ in ways_to_secrets()}))
def test_no_secret_column_can_be_guessed_letter_by_letter(office: Client, address: str, some: Some) -> None:
    """A run tries each path with two of the lookups. The rule itself is checked for all of them above."""
    for number, path in enumerate(path for listed, path in ways_to_secrets() if listed == address):
        for lookup in some(("", "startswith", "regex", "gt"), one_in=2, first=number):
            name = f"{path}__{lookup}".removesuffix("__")
            assert office.get(f"{address}?{name}=a").status_code == 400, name


@pytest.mark.sampled(3)
@every_admin
@pytest.mark.parametrize("alongside", ALONGSIDE)
def test_no_additional_parameter_allows_a_lookup(model_admin: AnyAdmin, office: Client, alongside: str) -> None:
    address = list_address(model_admin.model)
    path = next((path for listed, path in ways_to_secrets() if listed == address), "source")
    for query in (f"{path}__regex=^.{alongside}", f"{alongside.lstrip('&')}&{path}__startswith=a"):
        assert office.get(f"{address}?{query}").status_code == 400
        assert office.post(f"{address}?{query}", {"action": "x", "_selected_action": "x"}).status_code == 400


def test_the_attack_of_the_issue_learns_nothing(office: Client, ada: User) -> None:
    for asked in ({"email": ada.email, "password__startswith": guess} for guess in (ada.password[:5], "x")):
        assert office.get("/admin/accounts/user/", asked).status_code == 400


def test_a_regular_expression_never_reaches_the_database(office: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert office.get("/admin/projects/project/?name__regex=(a%2B)%2B%24").status_code == 400
    assert not [query for query in queries if "REGEXP" in query["sql"] or "(a+)+" in query["sql"]]


FILTERS = {
    "/admin/accounts/user/": "?is_active__exact=1&is_staff__exact=0&is_superuser__exact=0",
    "/admin/accounts/apikey/": "?scope__exact=write&revoked_at__isempty=1",
    "/admin/projects/project/": "?desired__exact=running&plan__slug__exact=basic&status=running",
    "/admin/projects/event/": "?action=deploy&outcome=requested&at__year=2026&at__month=11&at__day=3",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("address", "query"), FILTERS.items())
@pytest.mark.parametrize("alongside", ALONGSIDE)
def test_the_declared_filters_work(office: Client, address: str, query: str, alongside: str) -> None:
    assert office.get(address + query + alongside).status_code == 200


@pytest.mark.sampled(3)
@every_admin
def test_every_filter_that_the_page_links_to_works(
    model_admin: AnyAdmin, service: PopulatedService, some: Some
) -> None:
    """The links of the sidebar and of the dates. A run follows one with the counts, and the next one without them."""
    client, address = browser_of(service.staff), list_address(model_admin.model)
    pages = [links_of(client.get(page).content.decode()) for page in (address, f"{address}?_facets=True")]
    filters = sorted({found for page in pages for found in page})
    for first, links in enumerate(pages):
        for found in some(filters, one_in=2, first=first):
            if link := links.get(found):
                assert client.get(address + link).status_code == 200, link


@pytest.mark.parametrize(
    "query",
    [
        "at__year=9999", "at__year=99999999999999999999", "at__year=0", "at__year=-1", "at__year=x", "at__year=",
        "at__month=99999999999999999999", "at__day=1e3", "at__year=٢٠٢٦", "action=%00", "at__gte=2026-01-01",
        "at__date=2026-01-01", "at__year__gt=2000", "no_such_column=1", "pk=1", "pk__in=1,2", "_changelist_filters=x",
    ],
)  # fmt: skip
def test_invalid_dates_and_filters_are_refused(office: Client, query: str) -> None:
    assert office.get(f"/admin/projects/event/?{query}").status_code == 400


@every_admin
def test_rows_are_referenced_by_primary_key_only(model_admin: AnyAdmin, service: PopulatedService) -> None:
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


def test_an_admin_without_the_rule_keeps_the_service_from_starting() -> None:
    site = BerthAdminSite()
    site.register(User, type("Loose", (ModelAdmin,), {}))
    with pytest.raises(ImproperlyConfigured, match="Loose must derive from DeclaredLookups"):
        site.get_urls()


def test_django_s_own_rule_would_let_the_attack_through(sam: User) -> None:
    """This shows that our rule refuses it."""
    request = RequestFactory().get("/")
    request.user = sam
    loose = ModelAdmin(User, admin.site)
    ours = admin.site._registry[User]
    taken = {name for name in all_lookups(User) if loose.lookup_allowed(name, "1", request)}
    assert "password__regex" in taken
    assert "password__regex" not in {name for name in taken if ours.lookup_allowed(name, "1", request)}
    assert {"startswith", "regex"} <= set(lookups_of(User._meta.get_field("password")))


def test_a_refusal_is_audited_without_the_queried_value(
    office: Client, sam: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="berth.audit")
    office.get("/admin/accounts/user/?password__startswith=pbkdf2")
    assert f"admin_lookup_refused by={sam.pk} what=user" in caplog.text
    assert "pbkdf2" not in "".join(record.getMessage() for record in caplog.records if record.name == "berth.audit")
