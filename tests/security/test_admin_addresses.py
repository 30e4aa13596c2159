"""No address of the admin reveals which rows exist, and none shows a secret column."""

import pytest
from django.contrib.contenttypes.models import ContentType
from django.test import RequestFactory

from accounts.models import User
from tests.clients import browser_of
from tests.sampling import Some
from tests.security.admin_columns import admins, list_address, secret_columns
from tests.security.every_admin import AnyAdmin, every_admin
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes

pytestmark = pytest.mark.one_database


def test_no_admin_url_reveals_which_rows_exist(service: PopulatedService) -> None:
    kind = ContentType.objects.get_for_model(User).pk
    for key in (service.admin.pk, "nothing"):
        assert browser_of(service.staff).get(f"/admin/r/{kind}/{key}/").status_code == 404


def test_no_page_of_the_admin_shows_a_secret_column(service: PopulatedService, some: Some) -> None:
    """Every page of every row, for staff or for admins: lists, forms, histories, deletions."""
    values = {
        str(value) for model, column in secret_columns()
        for value in model._default_manager.values_list(column, flat=True) if value
    }  # fmt: skip
    assert len(values) > 5
    for number, user in enumerate((service.staff, service.admin)):
        client = browser_of(user)
        for address in some(sorted(_pages(service)), one_in=2, first=number):
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


@pytest.mark.sampled(5)
@every_admin
@pytest.mark.parametrize("key", ["%00", "x", "99999999999999999999999", "-1", "%F0%9F%98%80", "a" * 300])
def test_a_key_of_any_shape_is_answered(model_admin: AnyAdmin, ada: User, key: str) -> None:
    client = browser_of(ada)
    for page in ("change", "history", "delete"):
        assert client.get(f"{list_address(model_admin.model)}{key}/{page}/").status_code in {302, 403, 404}


@pytest.mark.sampled(5)
@every_admin
@pytest.mark.parametrize("key", ["x", "\x00", "", "9" * 30, "-1", "%", "a" * 5000])
def test_a_selection_of_any_shape_is_answered(model_admin: AnyAdmin, ada: User, key: str) -> None:
    client = browser_of(ada)
    request = RequestFactory().get("/")
    request.user = ada
    for action in (*model_admin.get_actions(request), "no_such_action"):
        values = {"action": action, "_selected_action": key, "index": "0"}
        assert client.post(list_address(model_admin.model), values).status_code in {200, 302, 400}, action
