"""61 agents on a real engine, in a real browser: narrowed down, sorted, a page of them stopped and started at once,
and one found by the palette with the keyboard alone. The agents are the stub of 2 MB, which starts in an instant.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.project_pages import tab_to
from tests.canaries import CANARY_PASSWORD
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server, Site
from tests.chaos.stub import STUB_PROJECT
from tests.e2e.browsing import open_browser
from tests.people import email_of
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.browser,
    pytest.mark.timeout(900),
    pytest.mark.one_database,
    pytest.mark.rare(6),
]

AGENTS, PAGE, AT_ONCE = 61, 25, 4
CRASHED = range(30, 33)
LONG = 300.0
"""Seconds, on a busy machine."""


@pytest.fixture
def docker_instance() -> Iterator[DockerInstance]:
    made = DockerInstance()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def server(docker_instance: DockerInstance, tmp_path: Path) -> Iterator[Server]:
    site = Site(tmp_path, docker_instance)
    try:
        collected = site.run("django", "collectstatic", "--no-input", "--verbosity=0")
        assert collected.returncode == 0, collected.stderr
        yield site.serve()
    finally:
        site.close()


def test_sixty_one_agents_are_found_sorted_and_commanded(server: Server, docker_instance: DockerInstance) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ids = list(pool.map(lambda number: deploy(server, number), range(AGENTS)))
    for number in CRASHED:
        docker_instance.tell_stub(docker_instance.name_of(ids[number]), "exit20")
    with open_browser(f"http://localhost:{server.port}") as page:
        rows = page.locator(".projects > li")
        sign_in(page)
        narrow_down(page, rows)
        sort(page, rows)
        command(page, "Stop")
        assert running(docker_instance) == {each for number, each in enumerate(ids) if number in well(PAGE)}
        command(page, "Start")
        assert running(docker_instance) == {each for number, each in enumerate(ids) if number in well(0)}
        walk_by_keyboard(page, ids[42])


def deploy(server: Server, number: int) -> str:
    """Returns the id. Agents that crash check more often what they must do."""
    settings = {"instructions": "calm" if number in CRASHED else "sleepy"}
    answers: list[Any] = []

    def is_taken() -> bool:  # a machine that is busy has no place for so many at once
        answers.append(
            server.call("POST", "/api/projects", STUB_PROJECT | {"name": named(number), "settings": settings})
        )
        return answers[-1].status not in {0, 503}

    wait_until(is_taken, within=LONG, every=0.5)
    assert answers[-1].status == 201, answers[-1]
    return str(answers[-1].json["id"])


def named(number: int) -> str:
    return f"Agent {number:02}"


def well(first: int) -> set[int]:
    """Returns the numbers of the agents from this one on that have not crashed."""
    return set(range(first, AGENTS)) - set(CRASHED)


def running(docker_instance: DockerInstance) -> set[str]:
    return {project for project, state in docker_instance.states().items() if state == "running"}


def sign_in(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Email").fill(email_of("alice"))
    page.get_by_label("Password").fill(CANARY_PASSWORD)
    page.keyboard.press("Enter")
    by_status = page.get_by_role("navigation", name="By status")
    expect(by_status).to_have_text("All 61 Crashed 3 Running 58", timeout=LONG * 1000)  # without a reload


def narrow_down(page: Page, rows: Locator) -> None:
    page.get_by_role("link", name="Crashed 3").click()
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("Telegram refused the bot token.")
    page.get_by_role("link", name="All 61").click()
    expect(rows).to_have_count(PAGE)
    page.get_by_label("Search").press_sequentially("agent 1")
    expect(rows).to_have_count(10)
    expect(page.locator("#api-call")).to_contain_text("/api/projects?q=agent+1&sort=status")
    page.get_by_label("Search").fill("")
    expect(rows).to_have_count(PAGE)


def sort(page: Page, rows: Locator) -> None:
    """Sorts by name, over all three pages."""
    page.get_by_label("Order").select_option("By name")
    expect(page).to_have_url(re.compile("sort=name"))
    for first in range(0, AGENTS, PAGE):
        numbers = range(AGENTS)[first : first + PAGE]
        expect(rows).to_have_count(len(numbers))
        expect(rows.first).to_contain_text(named(numbers[0]))
        expect(rows.last).to_contain_text(named(numbers[-1]))
        if numbers[-1] < AGENTS - 1:
            page.get_by_role("link", name="Next page").click()


def command(page: Page, action: str) -> None:
    """Sends the command to all projects on the first page."""
    page.goto("/?sort=name")
    page.get_by_label("All on this page").check()
    expect(page.get_by_text(f"{PAGE} selected:")).to_be_visible()
    page.get_by_role("button", name=action, exact=True).click()
    expect(page.get_by_text("Nothing is left to be done.")).to_be_visible(timeout=LONG * 1000)
    expect(page.locator("#results > li.success")).to_have_count(PAGE)


def walk_by_keyboard(page: Page, project: str) -> None:
    keys = page.keyboard
    keys.press("Control+k")
    expect(page.get_by_label("Where to")).to_be_focused()
    keys.type(named(42))
    keys.press("Enter")
    expect(page).to_have_url(re.compile(r"\?q=Agent(\+|%20)42$"))
    tab_to(page.get_by_role("link", name=named(42)))
    keys.press("Enter")
    expect(page).to_have_url(re.compile(f"/projects/{project}$"))
    expect(page.locator("#status")).to_have_text("Running")
