"""Who may see the projects' pages, and what no page shows."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.models import Project
from projects.rules.status.lifecycle import Desired
from tests.canaries import (
    CANARY_API_KEY,
    CANARY_OTHER_API_KEY,
    CANARY_OTHER_TELEGRAM_TOKEN,
    CANARY_TELEGRAM_TOKEN,
)
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import PATHS, Fields, path_of, text_of

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("path", ["/", "/projects/new", *(f"/projects/{uuid.uuid4()}{below}" for below in PATHS)])
@pytest.mark.parametrize(("method", "mark"), [("get", ""), ("post", "%23unsent")])
def test_visitors_are_redirected_to_the_sign_in_page(
    client: Client, db: None, path: str, method: str, mark: str
) -> None:
    answer = getattr(client, method)(path)
    assert (answer.status_code, answer.url) == (302, f"/sign-in?next={path}{mark}")


@pytest.mark.parametrize("below", PATHS)
@pytest.mark.parametrize("method", ["get", "head", "post", "put", "patch", "delete", "options"])
def test_a_strangers_project_is_answered_like_one_that_never_existed(
    bob: User, project: Project, method: str, below: str
) -> None:
    client = Client()
    client.force_login(bob)
    data = {"action": "stop", "name": project.name}

    theirs = getattr(client, method)(path_of(project, below), data)
    nothing = getattr(client, method)(f"/projects/{uuid.uuid4()}{below}", data)

    allowed = method in {"get", "head"} or (method == "post" and below)
    assert theirs.status_code == nothing.status_code == (404 if allowed else 405)
    assert text_of(theirs) == text_of(nothing)
    assert Project.objects.get().desired == Desired.RUNNING


def test_the_list_holds_only_own_projects(bob: User, project: Project) -> None:
    client = Client()
    client.force_login(bob)
    assert project.name not in text_of(client.get("/"))


@pytest.mark.parametrize("path", ["/projects/new", *(f"/projects/{{}}{below}" for below in PATHS[1:])])
def test_a_form_without_its_token_does_nothing(alice: User, project: Project, fields: Fields, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    sent = {**fields, "action": "stop", "telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "name": project.name}

    assert client.post(path.format(project.pk), sent).status_code == 403
    assert Project.objects.get().desired == Desired.RUNNING


def test_names_and_logs_are_shown_as_text(
    dashboard: Client, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    project = deploy(name="<script>alert(1)</script>", settings={"model": "<b>bold"})
    engine.log(project.container_name, "<img src=x>")
    for path in ("/", *(path_of(project, below) for below in ("", "/change", "/delete"))):
        content = dashboard.get(path).content
        assert b"<script>alert" not in content
        assert b"<img src=x" not in content
        assert b"<b>" not in content


# -- credentials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", *(f"/projects/{{}}{below}" for below in ("", "/change", "/delete"))])
def test_no_page_holds_a_credential_not_even_encrypted(dashboard: Client, project: Project, path: str) -> None:
    content = dashboard.get(path.format(project.pk)).content.decode()
    for secret in (
        CANARY_API_KEY,
        CANARY_TELEGRAM_TOKEN,
        project.api_key_ciphertext,
        project.telegram_token_ciphertext,
    ):
        assert secret not in content


def test_credential_fields_are_never_filled_in(
    change: Any, dashboard: Client, project: Project, fields: Fields
) -> None:
    secrets = {"telegram_token": CANARY_OTHER_TELEGRAM_TOKEN, "api_key": CANARY_OTHER_API_KEY}
    for answer in (
        dashboard.post("/projects/new", {**fields, **secrets, "name": ""}),
        change(project, name="", **secrets),
    ):
        inputs = re.findall(r'<input type="password"[^>]*>', answer.content.decode())
        assert len(inputs) == 2
        for field in inputs:
            assert 'autocomplete="off"' in field
            assert "value=" not in field
