"""The API and the pages choose, order and page projects, and act on many, by the same services."""

import ast
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import pytest

from accounts.models import User
from projects.dashboard.content.list_query import Order
from projects.dashboard.content.project_list import SORT_OF
from projects.models import Project
from projects.services.lists.selection import TROUBLE_FIRST
from tests.clients import api_of, browser_of
from tests.deploying import deploy_project, token_of_bot
from tests.fakes.engine import MemoryEngine
from tests.paths import ROOT

ONLY_IN_SERVICES = {"count_again", "is_found", "find_rank", "needs_attention"}
"""What a second selection, or a second loop over many projects, would need."""


@pytest.mark.parametrize("room", ["api", "dashboard"])
def test_api_and_pages_share_one_selection_and_loop(room: str) -> None:
    imported = {
        (path.name, alias.name)
        for path in Path(ROOT / "projects" / room).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert not {each for each in imported if each[1] in ONLY_IN_SERVICES}


def test_both_find_the_same_in_the_same_order(alice: User, engine: MemoryEngine) -> None:
    api, page = api_of(alice), browser_of(alice)
    for number, name in enumerate(("Ärger", "zeta", "Alpha", "alpha")):
        project = deploy_project(api, name=name, telegramToken=token_of_bot(500 + number))
        if number % 2:
            engine.crash(project.container_name, exit_code=20)
    Project.objects.update(observed_at=None)
    for order, (text, status) in product(Order, (("", ""), ("ALPHA", ""), ("", "crashed"))):
        asked = {"q": text, "status": status}
        shown = [row.id for row in page.get("/", asked | {"sort": order.value}).context["list"].rows]
        if SORT_OF[order] == TROUBLE_FIRST:
            assert len(shown) == len(
                api.get("/api/projects", {name: each for name, each in asked.items() if each}).json()
            )
            continue
        sent = urlencode({name: each for name, each in asked.items() if each} | {"sort": SORT_OF[order]})
        assert [each["id"] for each in api.get(f"/api/projects?{sent}").json()] == shown, sent
