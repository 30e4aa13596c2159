"""Pages that refresh themselves."""

from django.utils import timezone
from playwright.sync_api import Page, expect

from projects.models import Actor, Project
from projects.rules.status.lifecycle import Action
from projects.services import control_project
from tests.browser.project_pages import MOMENT, deploy_by_form, let_pass
from tests.fakes.engine import MemoryEngine


def test_the_list_follows_and_leaves_focus_and_choice_where_they_are(home: Page, engine: MemoryEngine) -> None:
    project = deploy_by_form(home)
    home.goto("/")
    pick = home.get_by_label("Choose Harbour pilot")
    pick.check()
    link = home.get_by_role("link", name="Harbour pilot")
    link.focus()
    engine.crash(project.container_name, exit_code=31)
    let_pass(home)
    expect(home.get_by_text("The provider account has no credit left.")).to_be_visible()
    expect(home.get_by_role("navigation", name="By status")).to_contain_text("Crashed 1")
    expect(link).to_be_focused()
    expect(pick).to_be_checked()
    expect(home.get_by_text("1 selected:")).to_be_visible()


def test_what_has_not_changed_is_answered_with_nothing_and_a_change_with_little(
    home: Page, engine: MemoryEngine
) -> None:
    """Its marks come as the browser sends them."""
    deploy_by_form(home)
    home.goto("/")
    with home.expect_response("**/projects/changes*") as nothing:
        home.clock.run_for(MOMENT)
    assert nothing.value.status == 204
    Project.objects.update(bot_username="another_bot")
    with home.expect_response("**/projects/changes*") as change:
        home.clock.run_for(MOMENT)
    assert change.value.status == 200
    assert b'id="list"' not in change.value.body()
    expect(home.get_by_role("link", name="@another_bot")).to_be_visible()
    with home.expect_response("**/projects/changes*") as nothing:
        home.clock.run_for(MOMENT)
    assert nothing.value.status == 204


def test_the_moment_of_the_last_look_goes_back_where_it_does(home: Page) -> None:
    """It does when an operation begins: what the watcher saw before is no longer valid."""
    project = deploy_by_form(home)
    home.goto(f"/projects/{project.pk}")
    checked = home.locator("#checked")
    with home.expect_response("**/changes*"):
        home.clock.run_for(MOMENT)
    told = {"Checked-At": "2031-01-01T01:02:03+00:00"}
    home.route("**/changes*", lambda route: route.fulfill(status=204, headers=told))
    home.clock.run_for(MOMENT)
    expect(checked).to_have_text("As of 01:02:03 UTC")
    home.unroute("**/changes*")
    with home.expect_request("**/changes*") as asked:
        home.clock.run_for(MOMENT)
    assert "seen=details." in asked.value.url
    assert "seen=checked." not in asked.value.url


def test_a_page_that_nobody_looks_at_asks_for_nothing(home: Page) -> None:
    requests: list[str] = []
    home.wait_for_load_state("networkidle")  # the page itself may still be fetching its pictures
    home.on("request", lambda request: requests.append(request.url))
    look_away = "Object.defineProperty(document, 'hidden', { value: %s, configurable: true })"
    home.evaluate(look_away % "true")
    home.clock.run_for(20 * MOMENT)
    assert requests == []

    home.evaluate(look_away % "false")
    with home.expect_request("**/projects/changes*"):
        home.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_page_that_cannot_be_refreshed_says_so(home: Page) -> None:
    warning = home.get_by_text("This page is not up to date")
    expect(warning).to_be_hidden()
    home.context.clear_cookies()
    home.clock.run_for(MOMENT)
    expect(warning).to_be_visible()


def test_the_page_of_a_project_that_is_gone_leads_to_the_list_and_the_browser_complains_of_nothing(
    home: Page, complaints: list[str]
) -> None:
    """Also while the steps of its deploy are being requested."""
    project = deploy_by_form(home)
    project.address = "10.0.0.5"  # as one has that is behind the gateway
    for project.first_polled_at in (timezone.now(), None):
        project.save()
        home.goto(f"/projects/{project.pk}")
        assert home.locator("#steps[hx-get]").count() == (project.first_polled_at is None)
        Project.objects.filter(pk=project.pk).delete()
        home.clock.run_for(MOMENT)
        expect(home.get_by_role("heading", name="Projects", exact=True)).to_be_visible()
    assert complaints == []


def test_a_link_without_an_id_keeps_the_focus(home: Page) -> None:
    project = deploy_by_form(home)
    actor = Actor(label=project.owner.email, source="dashboard")
    control_project(project=project, action=Action.RESTART, actor=actor)
    home.goto(f"/projects/{project.pk}")
    earlier = home.get_by_role("link", name="Earlier run")
    earlier.focus()
    control_project(project=Project.objects.get(), action=Action.RESTART, actor=actor)
    let_pass(home)
    expect(home.get_by_text("Run 3 of 3")).to_be_visible()
    expect(earlier).to_be_focused()
