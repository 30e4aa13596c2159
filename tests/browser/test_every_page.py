"""Every page, light and dark, on a wide and a narrow screen, full and empty: axe finds nothing, nothing sticks out,
no form is sent twice, and the browser complains of nothing. With `--pictures` one of each is kept in that folder.

    .venv/bin/python -m pytest tests/browser/test_every_page.py --whole --pictures=var/pictures
"""

from typing import Any

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from tests.browser import every_page, worlds
from tests.browser.every_page import Seen
from tests.browser.viewer import Viewer
from tests.fakes.engine import MemoryEngine
from tests.sampling import Some

pytestmark = [pytest.mark.one_database, pytest.mark.timeout(3600)]

ONE_IN = 24
"""Of the addresses of owners and visitors. Those of the admin, twice as many, are looked at with `--whole`."""


@pytest.fixture
def viewer(
    page: Page, complaints: list[str], live_server: LiveServer, settings: Any, pytestconfig: pytest.Config
) -> Viewer:
    settings.BERTH_SENDS_MAIL, settings.BERTH_SIGNUP = True, "open"
    return Viewer(page, complaints, live_server.url, pytestconfig.getoption("--pictures"))


@pytest.mark.rare(1)
@pytest.mark.parametrize("make", [worlds.make_full, lambda _: worlds.make_empty()], ids=["full", "empty"])
def test_no_page_has_a_fault(viewer: Viewer, engine: MemoryEngine, make: Any, some: Some) -> None:
    world = make(engine)
    for address, visitor in some(every_page.find_pages(world, has_admin=some.is_whole), one_in=ONE_IN):
        if page := every_page.ask(world, address, visitor):
            viewer.look_at(page)
            for answer in list(every_page.send_forms_empty(world, address, visitor)):
                viewer.look_at(answer)
    assert not viewer.faults, "\n".join(viewer.faults)


def test_no_error_page_has_a_fault(viewer: Viewer, some: Some, db: None) -> None:
    for page in some(every_page.error_pages(), one_in=4):
        viewer.look_at(page)
    assert not viewer.faults, "\n".join(viewer.faults)


def test_the_checker_detects_faults(viewer: Viewer) -> None:
    """What breaks the content security policy, what axe finds, and what is too wide."""
    body = """<html lang=en><title>x</title><link rel=stylesheet href=/static/berth/berth.css>
      <main><h1>One</h1><input><p id=faint>Faint</p><img src=http://127.0.0.1:1/outside.png alt=Outside>
      <p style="color: red">Red</p><form method=post></form><pre class=wide>WIDE</pre></main>"""
    body = body.replace("WIDE", "x" * 400)
    seen = Seen(name="wrong", address="/wrong", visitor=None, sent=body.encode(), tells_call=False)
    viewer.look_at(seen)
    told = "\n".join(viewer.faults)
    faults = [
        "CSP: img-src",
        "CSP: style-src",
        "label: <input>",
        "px stick out",
        "its request of the API",
        "sent twice",
    ]
    assert [fault for fault in faults if fault not in told] == []
