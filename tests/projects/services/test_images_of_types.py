"""An image's own labels are read from the engine once, and reported without asking it."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from containers.docker_api.images import read_capabilities
from containers.engine.images import Capability, ImageFacts
from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import AgentType
from projects.services.images.bases import note_image, note_images
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine

IMAGE = "berth/assistant:latest"


def told(api: APIClient) -> list[str]:
    [answer] = api.get("/api/types").json()
    found: list[str] = answer["capabilities"]
    return found


def test_the_catalogue_shows_the_image_s_declarations_of_the_last_check(api: APIClient, engine: MemoryEngine) -> None:
    engine.described[IMAGE] = ImageFacts(image_id="sha256:1", capabilities=("chat", "memory"))
    note_images()
    assert told(api) == ["chat", "memory"]
    engine.unavailable = True
    with pytest.raises(EngineUnavailableError):
        note_images()
    assert told(api) == ["chat", "memory"], "An engine that is silent takes nothing back."
    engine.unavailable = False
    engine.images.clear()
    note_images()
    assert told(api) == []
    assert AgentType.objects.get(slug="assistant").image_id == ""


def test_a_name_that_the_engine_refuses_is_nothing_and_the_others_are_noted(engine: MemoryEngine, db: None) -> None:
    before = AgentType.objects.get(slug="assistant")
    before.pk, before.image, before.is_default = "second", "berth/second:latest", False
    before.save(force_insert=True)
    for name in (IMAGE, before.image):
        engine.images.add(name)
        engine.described[name] = ImageFacts(image_id=f"sha256:{name}", capabilities=())
    engine.fail("describe_image", EngineRefusedError("That is no name of an image."))
    note_images()
    ids = set(AgentType.objects.values_list("image_id", flat=True))
    assert len(ids) == 2
    assert "" in ids


def test_a_check_of_the_former_image_is_not_stored_for_the_new_one(engine: MemoryEngine, db: None) -> None:
    row = AgentType.objects.get(slug="assistant")
    AgentType.objects.update(image="berth/other:latest")
    note_image(row, ImageFacts(image_id="sha256:1", capabilities=("chat",)))
    assert AgentType.objects.get(slug="assistant").capabilities == ""


def test_a_look_that_finds_nothing_new_writes_nothing(
    engine: MemoryEngine, db: None, django_assert_num_queries: Any
) -> None:
    note_images()
    with django_assert_num_queries(1):
        note_images()


def test_staff_see_the_declarations_as_soon_as_they_save_another_image(ada: User, engine: MemoryEngine) -> None:
    page: Client = browser_of(ada)
    engine.images.add("my/agent:1")
    engine.described["my/agent:1"] = ImageFacts(image_id="sha256:2", capabilities=("chat", "voice"))
    row = {"slug": "mine", "title": "Mine", "image": "my/agent:1", "settings_schema": "{}", "min_memory_mb": 64}
    sent = {**row, "stop_timeout": 10, "ready_timeout": 90, "egress": "internet", "available": "on"}
    assert page.post("/admin/projects/agenttype/add/", sent).status_code == 302
    assert "chat, voice" in page.get("/admin/projects/agenttype/mine/change/").content.decode()
    engine.unavailable = True
    sent["image"] = "my/agent:2"
    assert page.post("/admin/projects/agenttype/mine/change/", sent).status_code == 302


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("chat,memory", ("chat", "memory")),
        (" MCP , chat,chat,", ("chat", "mcp")),
        (",".join(reversed(Capability)), tuple(Capability)),
        ("root,<b>,chat\n", ("chat",)),
        ("", ()),
        (None, ()),
        (7, ()),
        ("x" * 100_000, ()),
    ],
)
def test_only_declarations_of_the_contract_count(label: object, found: tuple[str, ...]) -> None:
    assert read_capabilities(label) == found
