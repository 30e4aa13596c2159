"""What staff do with a person and an agent, in real browsers on a real engine: invite, suspend with a reason, lift."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.canaries import CANARY_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_PASSWORD
from tests.e2e.service import EMAIL, Service
from tests.e2e.settling import settle

pytestmark = [pytest.mark.docker, pytest.mark.browser, pytest.mark.timeout(600)]

OWNER, PASSWORD = "mate@example.org", "tide-table-of-the-mate"
WHY = "Its bot sends advertisements to strangers"


def test_from_the_invitation_to_a_suspension_that_is_lifted(page: Page, service: Service) -> None:
    sign_in(page, EMAIL, CANARY_PASSWORD, to="/admin/")
    link = invite(page)
    browser = page.context.browser
    assert browser is not None
    owner = browser.new_page(base_url=service.address.replace("127.0.0.1", "localhost"))
    owner.goto(link)
    owner.get_by_label("New password").fill(PASSWORD)
    owner.get_by_label("The same again").fill(PASSWORD)
    owner.get_by_role("button", name="Set password").click()
    expect(owner.get_by_text("Your password is set. Sign in with it.")).to_be_visible()
    sign_in(owner, OWNER, PASSWORD, to="/")
    project, token = deploy(service)
    assert project["status"] == "running", project["status_reason"]
    owner.goto(f"/projects/{project['id']}")
    expect(owner.locator("#status")).to_have_text("Running")
    [agent] = service.engine.containers(filters={"label": [f"berth.project={project['id']}"]})

    choose(page, "Suspend: stop, and keep the owner from starting", reason=WHY)
    expect(page.get_by_text("Night watch: Suspended.")).to_be_visible()
    expect(owner.locator("#status")).to_have_text("Suspended")
    expect(owner.locator("#reason")).to_contain_text(f"The staff suspended this project: {WHY}.")
    assert service.engine.containers(filters={"id": agent["Id"]}) == []

    choose(page, "Lift the suspension")
    expect(page.get_by_text("Night watch: Lifted, and started.")).to_be_visible()
    expect(owner.locator("#status")).to_have_text("Running")
    assert service.call("DELETE", f"/api/projects/{project['id']}", token=token).status == 204


def sign_in(page: Page, email: str, password: str, *, to: str) -> None:
    page.goto(to)
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/sign-in" not in url)


def invite(page: Page) -> str:
    """The link's path."""
    page.goto("/admin/accounts/user/")
    page.get_by_role("link", name="Invite many").click()
    page.get_by_label("Emails").fill(OWNER)
    page.get_by_role("button", name="Create links").click()
    [link] = re.findall(rf"{OWNER} https?://[^/]+(/\S+)", page.locator("#links").inner_text())
    return str(link)


def deploy(service: Service) -> tuple[Any, str]:
    token = service.call("POST", "/api/auth/login", {"email": OWNER, "password": PASSWORD}).json["token"]
    wanted = {"name": "Night watch", "type": "assistant", "plan": "free"}
    wanted |= {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN, "apiKey": CANARY_API_KEY}
    return settle(service, token, service.call("POST", "/api/projects?wait=30", wanted, token)), token


def choose(page: Page, action: str, *, reason: str = "") -> None:
    page.goto(f"/admin/projects/project/?q={OWNER}")
    page.locator("input.action-select").check()
    page.locator("select[name=action]").select_option(label=action)
    page.get_by_label("Why, for the owner").fill(reason)
    page.get_by_role("button", name="Go").click()
