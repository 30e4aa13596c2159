"""What pages say while nothing answers, or something else than Berth does, and that they are well again afterwards."""

from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from projects.models import Project
from tests.browser.project_pages import MOMENT, deploy_named
from tests.fakes.engine import MemoryEngine

OF_A_PROXY = "<!doctype html><html lang=en><title>Back soon</title><h1>Back soon</h1></html>"
"""What a proxy shows while Berth starts, or a network before one has signed in to it."""

Fault = Callable[[Route], None]


def _answer(status: int, route: Route) -> None:
    route.fulfill(status=status, content_type="text/html", body=OF_A_PROXY)


FAULTS: dict[str, Fault] = {
    **{str(status): partial(_answer, status) for status in (200, 404, 429, 502, 503)},
    "no network": lambda route: route.abort(),
    "silence": lambda _route: None,
}
PROJECT, LIST = "project", "list"


@pytest.fixture
def project(home: Page, engine: MemoryEngine) -> Project:
    return deploy_named(User.objects.get(), "Harbour pilot", 1)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("which", [LIST, PROJECT])
def test_an_open_page_says_that_it_is_not_up_to_date_and_recovers(
    home: Page, project: Project, which: str, fault: str, complaints: list[str]
) -> None:
    home.goto("/" if which == LIST else f"/projects/{project.pk}")
    stale, status = home.get_by_text("This page is not up to date"), home.get_by_text("Running", exact=True).first
    with home.expect_response("**/changes*"):
        home.clock.run_for(MOMENT)
    expect(stale).to_be_hidden()
    with home.expect_request("**/changes*"):
        home.route("**/changes*", FAULTS[fault])
        home.clock.run_for(MOMENT)
    home.clock.run_for(2 * MOMENT)
    expect(stale).to_be_visible()
    expect(status).to_be_visible()
    home.unroute("**/changes*")
    if fault != "silence":  # which is given up after 20 seconds, for which no test waits
        with home.expect_response("**/changes*"):
            home.clock.run_for(MOMENT)
        expect(stale).to_be_hidden()
    complaints.clear()
