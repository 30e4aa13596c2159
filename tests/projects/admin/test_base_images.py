"""Staff see the base of an agent type's image, also if the engine fails."""

import pytest
from django.test import Client

from accounts.models import User
from containers.engine.images import ImageFacts
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine

PAGE = "/admin/projects/agenttype/assistant/change/"
IMAGE = "berth/assistant:latest"
BASE = "python:3.13-slim@sha256:" + "a" * 64


@pytest.fixture
def page(ada: User) -> Client:
    return browser_of(ada)


def test_the_base_is_named_with_its_digest(page: Client, engine: MemoryEngine) -> None:
    engine.described[IMAGE] = ImageFacts(image_id="sha256:1", base=BASE)
    assert BASE in page.get(PAGE).content.decode()


def test_a_custom_image_says_that_its_base_was_not_recorded(page: Client, engine: MemoryEngine) -> None:
    assert "Not recorded: “manage.py build_images” has not built this image." in page.get(PAGE).content.decode()


def test_a_silent_engine_does_not_block_the_page(page: Client, engine: MemoryEngine) -> None:
    engine.unavailable = True
    assert "Unknown: " in page.get(PAGE).content.decode()


def test_the_base_image_cannot_be_edited(page: Client, engine: MemoryEngine) -> None:
    assert 'name="base_image"' not in page.get(PAGE).content.decode()
    assert page.get("/admin/projects/agenttype/add/").status_code == 200


def test_the_form_begins_with_the_distinguishing_fields_and_shows_code_as_code(
    page: Client, engine: MemoryEngine
) -> None:
    told = page.get(PAGE).content.decode()
    assert "such as <code>anthropic: claude-haiku-5-5</code>" in told
    assert told.index("field-slug") < told.index('name="title"') < told.index('name="allowed_models"')
