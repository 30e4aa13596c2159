"""Scripts of single pages whose requests get no answer, that of a proxy, or a late one; and what people do before they
have loaded.
"""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from projects.dashboard.content import bulk
from projects.models import AgentType, Project
from tests.browser.project_pages import deploy_named, fill_in
from tests.browser.test_without_answers import FAULTS
from tests.fakes.engine import MemoryEngine

SignIn = Callable[[User], None]
AT_ONCE = {name: fault for name, fault in FAULTS.items() if name != "silence"}
FAILED = [name for name in AT_ONCE if name != "200"]


@pytest.fixture
def project(home: Page, engine: MemoryEngine) -> Project:
    return deploy_named(User.objects.get(), "Harbour pilot", 1)


def test_a_choice_is_shown_although_the_charts_are_being_fetched(home: Page, project: Project) -> None:
    """Whichever answer comes first: the last choice counts."""
    held: list[Route] = []
    home.goto(f"/projects/{project.pk}")
    home.route(re.compile(r"/charts\?span=24h"), lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    with home.expect_request("**/charts*"):
        home.get_by_role("link", name="24 hours").click()
    home.get_by_role("link", name="7 days").click()
    expect(home.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
    with home.expect_response("**/charts*"):
        held[0].continue_()
    expect(home.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")


def test_no_page_of_a_proxy_replaces_the_charts(home: Page, project: Project) -> None:
    home.goto(f"/projects/{project.pk}")
    home.route("**/charts*", AT_ONCE["200"])
    with home.expect_response("**/charts*"):
        home.clock.run_for(61_000)
    home.evaluate("0")
    expect(home.get_by_role("link", name="7 days")).to_be_visible()
    expect(home.get_by_text("Back soon")).to_have_count(0)


@pytest.mark.parametrize("fault", AT_ONCE)
def test_a_token_for_the_docs_that_is_not_given_is_reported(home: Page, complaints: list[str], fault: str) -> None:
    home.goto("/api/docs")
    home.route("**/settings/token-for-docs", AT_ONCE[fault])
    home.get_by_role("button", name="Get a token for ten minutes").click()
    expect(home.get_by_text("That did not work.")).to_be_visible()
    home.reload()
    home.wait_for_load_state("networkidle")
    expect(home.get_by_role("heading", level=1)).to_have_text("API of Berth")
    assert [text for text in complaints if "Failed to load resource" not in text] == []


@pytest.mark.parametrize("of_staff", [False, True])
def test_a_log_that_nobody_sends_is_said_to_be_unfollowed(
    page: Page, alice: User, ada: User, sign_in: SignIn, engine: MemoryEngine, of_staff: bool
) -> None:
    project = deploy_named(alice, "Harbour pilot", 1)
    sign_in(ada if of_staff else alice)
    page.clock.install()
    page.route(re.compile(r"/log(/news/)?\?after"), lambda route: route.abort())
    page.goto(f"/admin/projects/project/{project.pk}/log/" if of_staff else f"/projects/{project.pk}")
    page.clock.run_for(11_000)
    expect(page.get_by_text("The log cannot be followed now.")).to_be_visible()
    engine.log(project.container_name, "Back again")
    page.unroute_all()
    with page.expect_request(re.compile(r"/log(/news/)?\?after")):
        page.clock.run_for(11_000)
    expect(page.get_by_text("The log cannot be followed now.")).to_be_hidden()


@pytest.mark.parametrize("fault", FAILED)
def test_a_command_to_many_that_stops_on_the_way_says_so(
    home: Page, engine: MemoryEngine, complaints: list[str], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(bulk, "BATCH_SECONDS", 0.0)
    for number in range(3):
        deploy_named(User.objects.get(), f"Ship {number}", number)
    home.goto("/")
    home.get_by_label("All on this page").check()
    home.route("**/projects/bulk", lambda route: _after_the_first(route, AT_ONCE[fault]))
    home.get_by_role("button", name="Stop").click()
    trouble = home.get_by_role("alert")
    expect(trouble).to_contain_text("The server did not answer correctly")
    home.unroute("**/projects/bulk")
    home.get_by_role("button", name="Continue with the rest").click()
    expect(home.get_by_text("Nothing is left to be done.")).to_be_visible()
    expect(trouble).to_be_hidden()
    assert not Project.objects.exclude(desired="stopped").exists()
    complaints.clear()


def _after_the_first(route: Route, fault: Callable[[Route], None]) -> None:
    (fault if route.request.headers.get("hx-request") else Route.continue_)(route)


def test_a_refused_form_is_not_checked_again(home: Page) -> None:
    """Nothing in it has changed, and each check counts like a deploy."""
    fill_in(home, name="x" * 65)
    home.clock.run_for(1000)
    expect(home.locator("#bot-hint")).to_contain_text("bot 987654321")
    expect(home.locator("#key-hint")).to_contain_text("A key of openai")
    asked: list[str] = []
    home.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    home.get_by_role("button", name="Deploy").click()
    expect(home.get_by_role("alert")).to_be_focused()
    home.wait_for_load_state("networkidle")
    assert [url.rpartition("/")[2] for url in asked] == ["new"]


def test_what_is_chosen_and_typed_before_the_scripts_have_loaded_counts(home: Page, engine: MemoryEngine) -> None:
    AgentType.objects.update(available=True)
    for number, name in enumerate(("Harbour pilot", "Night watch")):
        deploy_named(User.objects.get(), name, number)
    held: list[Route] = []
    home.route("**/htmx*.js", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
    home.goto("/projects/new", wait_until="commit")
    other = home.locator("[name=type]:not(:checked)").first
    slug = other.get_attribute("value") or ""
    other.check(force=True)
    held.pop().continue_()
    expect(home.locator("[name=shown_type]")).to_have_value(slug)
    home.goto("/", wait_until="commit")
    home.get_by_label("Search", exact=True).fill("Night")
    held.pop().continue_()
    expect(home.locator(".projects > li")).to_have_count(1)
