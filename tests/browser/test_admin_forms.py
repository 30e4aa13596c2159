"""Every list and every form of the admin: nothing is cut off at 1280 px, all has its label and its contrast, light and
dark, and the browser complains of nothing (the fixture `page`). Generated from the registered models.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.db.models import CharField, Model
from playwright.sync_api import Page, expect

from accounts.models import User
from projects.models import Batch, BatchItem
from projects.models.batch import ItemState
from tests.browser.conftest import PICTURES
from tests.browser.viewer import faults_of
from tests.fakes.engine import MemoryEngine
from tests.sampling import Some
from tests.security.populated_service import PopulatedService

MODELS = sorted(admin.site._registry, key=lambda model: model.__name__)

CUT_OFF = """() => [...document.querySelectorAll('body *')]
  .filter(node => node.checkVisibility() && !node.closest('.visually-hidden, select'))
  .filter(node => node.getBoundingClientRect().right > innerWidth + 1 || node.getBoundingClientRect().left < -1
    || node.matches('.results, #content, fieldset') && node.scrollWidth > node.clientWidth + 1)
  .map(node => `cut off: ${node.outerHTML.slice(0, 100)}`)"""

KNOWN = ("heading skips a level", 'no label: <input id="">', "no name: <a id=")
"""What Django's own templates do: headings of filters, buttons that are inputs, links that are a picture with a text.
What axe says of these is nothing (BERTH_TEST_AXE).
"""


SAID_OF_A_FAILURE = {"htmx:afterRequest", "htmx:sendError"}


@pytest.fixture
def service(engine: MemoryEngine) -> PopulatedService:
    """With texts of the maximum length, without spaces where none are needed."""
    service = PopulatedService.make(engine)
    for model in MODELS:
        stretch(model)
    User.objects.filter(pk=service.alice.pk).update(email=f"{'x' * 50}@{'y' * 50}.example", notes="A word " * 30)
    return service


def stretch(model: type[Model]) -> None:
    """The texts that people type: each as long as its column takes, up to 64 letters."""
    for field in model._meta.get_fields():
        if not isinstance(field, CharField) or field.primary_key or field.unique or field.choices:
            continue
        if field.editable and field.max_length and field.name not in {"action", "kind", "state"}:
            model._default_manager.update(**{field.name: "W" * min(field.max_length, 64)})


def addresses(model: type[Model]) -> Iterator[tuple[str, str]]:
    """The list, the form of the first row, and the empty form, by name."""
    name = f"{model._meta.app_label}/{model._meta.model_name}"
    row = model._default_manager.first()
    assert row is not None, f"Give PopulatedService a {model.__name__}."
    yield f"{model._meta.model_name}-list", f"/admin/{name}/"
    yield f"{model._meta.model_name}-form", f"/admin/{name}/{row.pk}/change/"
    yield f"{model._meta.model_name}-new", f"/admin/{name}/add/"


def look(page: Page, name: str, folder: Path | None) -> list[str]:
    found: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.evaluate("document.getAnimations().forEach(each => each.finish())")  # colours that fade over
        found += [f"{name}, {scheme}: {fault}" for fault in faults_of(page) if not fault.startswith(KNOWN)]
        if folder:
            page.screenshot(path=folder / f"admin-{name}-1280-{scheme}.png", full_page=True)
    return found + [f"{name}: {fault}" for fault in page.evaluate(CUT_OFF)]


@pytest.mark.rare(2)
def test_no_part_of_a_list_or_form_is_cut_off_or_unlabelled(
    page: Page, service: PopulatedService, sign_in: Callable[[User], None], some: Some
) -> None:
    page.set_viewport_size({"width": 1280, "height": 844})
    sign_in(service.admin)
    pages = [each for model in MODELS for each in addresses(model)]
    found: list[str] = []
    for name, address in pages if PICTURES else some(pages, one_in=4):
        answer: Any = page.goto(address)
        if answer.status == 200:
            found += look(page, name, Path(PICTURES) if PICTURES else None)
        else:
            assert (answer.status, name.endswith("-new")) == (403, True), name
    assert found == []


def test_a_batch_continues_by_itself_and_survives_a_reload(
    page: Page, service: PopulatedService, sign_in: Callable[[User], None], complaints: list[str]
) -> None:
    batch = Batch.objects.get()
    BatchItem.objects.bulk_create(
        BatchItem(batch=batch, number=number, project_id=service.project.pk, name=f"Ship {number}")
        for number in range(2, 5)
    )
    page.set_viewport_size({"width": 1280, "height": 844})
    sign_in(service.admin)
    failures = iter(["abort"])
    page.route("**/batch/**", lambda route: getattr(route, _how(route, failures))())
    page.clock.install()
    page.goto(f"/admin/projects/project/batch/{batch.pk}/")
    page.clock.run_for(6000)
    page.get_by_text("4 of 4 finished. Nothing is left.").wait_for()
    expect(page.locator("li.done")).to_have_count(4)  # each is put in after what is told of all
    assert not BatchItem.objects.exclude(state=ItemState.DONE).exists()
    assert page.get_by_role("button", name="Stop here").count() == 0
    assert look(page, "batch", Path(PICTURES) if PICTURES else None) == []
    page.reload()
    page.get_by_text("4 of 4 finished. Nothing is left.").wait_for()
    assert {text.partition(",")[0] for text in complaints if "load resource" not in text} == SAID_OF_A_FAILURE
    complaints.clear()


def _how(route: Any, failures: Iterator[str]) -> str:
    """The first step gets no answer."""
    return next(failures, "continue_") if route.request.method == "POST" else "continue_"
