"""Credentials of tool servers are stored encrypted, added by the gateway, and never shown."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.db import connection

from accounts.models import User
from projects.models import AgentType, Event, Project
from projects.rules.settings.used_servers import UNUSED
from projects.services.account.export import write_export
from projects.services.credentials.key_rotation import rotate_secrets
from projects.services.reports.logs import read_logs
from tests.canaries import CANARY_OF_SERVER, find_canary
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import digest, entry_of

pytestmark = pytest.mark.django_db
MCP, SEARCH, OPEN = "https://tools.example/mcp", "https://search.example/find", "https://open.example/mcp"
STAND_IN = f"********{CANARY_OF_SERVER[-4:]}"
SETTINGS = {
    "mcp": [MCP, OPEN],
    "search_url": SEARCH,
    "server_credentials": [f"{MCP} {CANARY_OF_SERVER}", f"{SEARCH} X-Api-Key: {CANARY_OF_SERVER}"],
}


@pytest.fixture
def keyed(deploy: Callable[..., Project]) -> Project:
    return deploy(settings=SETTINGS)


def given_to(engine: MemoryEngine, project: Project) -> Any:
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    assert find_canary(str(spec)) is None
    return json.loads(spec.environment["AGENT_SETTINGS"])


def change(api: Any, project: Project, **settings: Any) -> Any:
    return api.patch(f"/api/projects/{project.pk}", {"settings": settings})


def test_the_gateway_holds_the_credentials_and_the_agent_gets_gateway_urls(
    engine: MemoryEngine, keyed: Project
) -> None:
    entry, given = entry_of(engine, keyed)["servers"], given_to(engine, keyed)
    by_base = {server["base"]: (way, server["header"], server["value"]) for way, server in entry["by_id"].items()}
    assert by_base[MCP][1:] == ("authorization", f"Bearer {CANARY_OF_SERVER}")
    assert by_base[SEARCH][1:] == ("x-api-key", CANARY_OF_SERVER)
    assert "server_credentials" not in given
    gateway, out, virtual, way = given["mcp"][0].rsplit("/", 3)
    assert (gateway.startswith("http://"), out, digest(virtual), way) == (
        True,
        "out",
        entry["virtual"],
        by_base[MCP][0],
    )
    assert given["search_url"] == f"{gateway}/out/{virtual}/{by_base[SEARCH][0]}"
    assert given["mcp"][1] == OPEN
    assert entry["only_hosts"] is False


def test_answers_pages_logs_the_export_and_the_database_have_none(
    engine: MemoryEngine, keyed: Project, api: Any, alice: User, sam: User
) -> None:
    shown = api.get(f"/api/projects/{keyed.pk}").json()["settings"]
    assert shown["server_credentials"] == [f"{MCP} {STAND_IN}", f"{SEARCH} {STAND_IN}"]
    pages = [
        browser_of(alice).get(f"/projects/{keyed.pk}/change"),
        browser_of(alice).get(f"/projects/new?from={keyed.pk}"),
    ]
    assert f"{MCP} {STAND_IN}" in pages[0].content.decode()
    assert STAND_IN not in pages[1].content.decode()
    staff = browser_of(sam).get(f"/admin/projects/project/{keyed.pk}/change/")
    assert staff.status_code == 200
    keyed.refresh_from_db()
    virtual = keyed.decrypt_servers().virtual
    engine.log(keyed.container_name, f"one {CANARY_OF_SERVER} and {virtual}")
    logs = "\n".join(read_logs(project=keyed, tail=10))
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM projects_project")
        stored = str(cursor.fetchall())
    with ZipFile(BytesIO(b"".join(write_export(keyed.owner)))) as archive:
        exported = archive.read("project.jsonl")
    assert STAND_IN.encode() in exported
    told: list[str | bytes] = [
        *(page.content for page in (*pages, staff)),
        logs,
        stored,
        exported,
        str(list(Event.objects.values())),
    ]
    for text in told:
        assert find_canary(text) is None
        assert virtual not in (text if isinstance(text, str) else text.decode())


def test_a_change_can_keep_replace_and_remove_credentials(engine: MemoryEngine, keyed: Project, api: Any) -> None:
    before = entry_of(engine, keyed)["servers"]
    assert change(api, keyed, time_zone="Europe/Berlin").status_code == 200
    assert entry_of(engine, keyed)["servers"] == before
    answer = change(api, keyed, server_credentials=[f"{SEARCH} {STAND_IN}", f"{OPEN} a-new-token-for-it"])
    assert answer.json()["settings"]["server_credentials"] == [f"{SEARCH} {STAND_IN}", f"{OPEN} ********r-it"]
    after = entry_of(engine, keyed)["servers"]
    assert after["virtual"] == before["virtual"], "the agent that runs goes on"
    values = {server["base"]: server["value"] for server in after["by_id"].values()}
    assert values == {SEARCH: CANARY_OF_SERVER, OPEN: "Bearer a-new-token-for-it"}
    assert set(before["by_id"]) & set(after["by_id"]), "an address means the same server, or none"
    assert change(api, keyed, server_credentials=None).status_code == 200
    keyed.refresh_from_db()
    assert (keyed.server_credentials_ciphertext, entry_of(engine, keyed)["servers"]) == ("", None)


@pytest.mark.parametrize("used", [f"{OPEN}/", OPEN[:-1], "https://other.example/"])
def test_an_unused_credential_is_refused_unless_it_is_kept(keyed: Project, api: Any, used: str) -> None:
    answer = change(api, keyed, server_credentials=[f"{MCP} {STAND_IN}", f"{used} {CANARY_OF_SERVER}"])
    (error,) = answer.json()["errors"]
    assert (error["field"], error["detail"]) == ("settings.server_credentials.1", UNUSED)
    assert change(api, keyed, mcp=[OPEN]).status_code == 200, "what is kept holds nothing up"
    assert change(api, keyed, mcp=[used], server_credentials=[f"{used} {CANARY_OF_SERVER}"]).status_code == 200


def test_long_credentials_take_no_room_from_the_other_settings(keyed: Project, api: Any) -> None:
    urls = [f"https://s{number}.example/" for number in range(5)]
    lines = [f"{url} {CANARY_OF_SERVER}{'x' * 1950}" for url in urls]
    settings = {"instructions": "x" * 8000, "mcp": urls, "server_credentials": lines}
    assert change(api, keyed, **settings).status_code == 200
    assert change(api, keyed, allowed_users=["y" * 80] * 200).status_code == 400


@pytest.mark.parametrize(
    ("line", "code"), [(f"{OPEN} {STAND_IN}", "invalid"), (f"http://x.example {STAND_IN}", "invalid"), (7, "invalid")]
)
def test_an_invalid_line_is_refused_by_the_api_and_next_to_its_field(
    keyed: Project, api: Any, alice: User, line: Any, code: str
) -> None:
    answer = change(api, keyed, server_credentials=[f"{MCP} {STAND_IN}", line])
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "settings.server_credentials.1")
    typed = {"name": keyed.name, "plan": keyed.plan_id, "server_credentials": f"{MCP} {STAND_IN}\r\n{line}"}
    page = browser_of(alice).post(f"/projects/{keyed.pk}/change", typed)
    assert page.status_code == 400
    assert page.content.decode().count("errorlist") == 1
    keyed.refresh_from_db()
    assert set(keyed.decrypt_servers().credentials) == {MCP, SEARCH}


def test_a_page_never_repeats_typed_credentials(keyed: Project, alice: User) -> None:
    typed = {"name": "", "plan": keyed.plan_id, "server_credentials": f"{OPEN} {CANARY_OF_SERVER}"}
    page = browser_of(alice).post(f"/projects/{keyed.pk}/change", typed).content.decode()
    assert OPEN in page
    assert find_canary(page) is None
    assert "Paste again: Credentials of servers." in page
    assert page.count("Paste it again: no page ever repeats a credential.") == 1
    stored = "\r\n".join(keyed.settings["server_credentials"])
    for kept in (stored, f" {stored}\r\n\r\n", ""):
        answer = browser_of(alice).post(f"/projects/{keyed.pk}/change", typed | {"server_credentials": kept})
        assert b"Paste" not in answer.content


def test_key_rotation_rewrites_credentials_and_lost_keys_ask_for_them(
    engine: MemoryEngine, keyed: Project, api: Any, settings: Any
) -> None:
    before = keyed.server_credentials_ciphertext
    settings.BERTH_ENCRYPTION_KEYS = ["Z" * 43 + "=", *settings.BERTH_ENCRYPTION_KEYS]
    assert list(rotate_secrets())
    keyed.refresh_from_db()
    assert keyed.server_credentials_ciphertext != before
    assert set(keyed.decrypt_servers().credentials) == {MCP, SEARCH}
    Project.objects.update(server_credentials_ciphertext="none of ours")
    assert change(api, keyed, web=True).json()["errors"][0]["field"] == "settings.server_credentials.0"
    assert change(api, keyed, server_credentials=[f"{MCP} {CANARY_OF_SERVER}"]).status_code == 200


def test_without_the_gateway_server_credentials_are_refused_and_nothing_starts(
    engine: MemoryEngine, keyed: Project, api: Any, body: dict[str, Any], settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    answer = api.post("/api/projects", {**body, "telegramToken": "555:a-free-bot", "settings": SETTINGS})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "needs_gateway")
    answer = api.post(f"/api/projects/{keyed.pk}/control", {"action": "restart"})
    assert answer.status_code >= 400
    assert "BERTH_GATEWAY" in answer.json()["detail"]


def test_an_agent_confined_to_the_gateway_reaches_only_hosts_of_its_type(
    engine: MemoryEngine, deploy: Callable[..., Project]
) -> None:
    AgentType.objects.update(allowed_hosts="tools.example")
    project = deploy(settings=SETTINGS, egress="gateway")
    entry = entry_of(engine, project)
    assert (entry["servers"]["only_hosts"], entry["hosts"]) == (True, ["tools.example"])
