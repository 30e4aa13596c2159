"""What a page or a message lists of rows stays short when there are many, and says how many it leaves out."""

from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.text import join_first
from projects.models import AgentType, AlertChannel, Allowance, Plan, Project, Quarantined
from projects.rules.alerts import Way
from tests.clients import api_of, browser_of
from tests.factories import ApiKeyFactory, UserFactory
from tests.fakes.engine import MemoryEngine
from tests.security.populated_service import add_to_quarantine

MANY = 130
"""More than any list names."""

pytestmark = pytest.mark.django_db


@pytest.fixture
def office(ada: User) -> Client:
    return browser_of(ada)


def text_of(answer: Any) -> str:
    return unescape(" ".join(answer.content.decode().split()))


def make_types() -> None:
    slugs = [f"type-{number:03}" for number in range(MANY)]
    AgentType.objects.bulk_create(AgentType(slug=slug, title=slug, image=f"absent/{slug[5:]}") for slug in slugs)


def make_staff() -> list[User]:
    return [UserFactory.create(email=f"sam{number:03}@example.com", is_staff=True) for number in range(MANY)]


def test_the_overview_names_the_first_missing_images(office: Client) -> None:
    AgentType.objects.update(available=False)
    make_types()
    page = text_of(office.get("/admin/"))
    assert page.count(">absent/") == 20
    assert "absent/019</a> and 110 more</dd>" in page


def test_the_overview_names_the_first_staff_who_are_notified_or_have_no_second_factor(office: Client) -> None:
    staff = make_staff()
    AlertChannel.objects.bulk_create(AlertChannel(user=user, way=Way.MAIL, service=True) for user in staff)
    page = text_of(office.get("/admin/"))
    assert "sam019@example.com and 110 more; staff choose this" in page
    assert "and 111 more</dd>" in page, "They and the admin who reads this."
    assert page.count("@example.com") < 50


def test_the_overview_names_the_first_agents_that_crash_and_types_with_old_images(office: Client, alice: User) -> None:
    make_types()
    AgentType.objects.update(image_id="sha256:new")
    columns: dict[str, Any] = {
        "owner": alice,
        "instance": "berth",
        "plan": Plan.objects.first(),
        "image_id": "sha256:old",
    }
    columns |= {"crash_count": 3, "crashes_since": timezone.now()}
    Project.objects.bulk_create(
        Project(name=each.slug, agent_type=each, **columns)
        for each in AgentType.objects.filter(slug__startswith="type-")
    )
    page = text_of(office.get("/admin/"))
    assert page.count(": 1 agent") == 20
    assert "1 agent and 110 more" in page
    assert page.count("3 times</li>") == 20
    assert "<li>and 110 more</li>" in page


def test_a_page_that_asks_before_it_deletes_names_the_first_of_what_goes_too(office: Client, alice: User) -> None:
    ApiKeyFactory.create_batch(MANY, user=alice)
    page = text_of(office.get(f"/admin/accounts/user/{alice.pk}/delete/"))
    assert page.count("<li>API key:") == 100
    assert f"API keys: {MANY}" in page
    plan = Plan.objects.create(slug="huge", memory_mb=64, cpus=1, pids=64, disk_mb=64, max_projects=1)
    Allowance.objects.bulk_create(Allowance(user=user, plan=plan) for user in make_staff())
    page = text_of(office.get("/admin/projects/plan/huge/delete/"))
    assert page.count("Allowance: ") == 100
    assert "<li>30 more</li>" in page
    assert office.post("/admin/projects/plan/huge/delete/", {"post": "yes"}).status_code == 302
    assert not Allowance.objects.filter(plan_id="huge").exists()


def test_an_action_names_the_first_refusals(office: Client, alice: User, engine: MemoryEngine) -> None:
    entries = [add_to_quarantine(engine, alice) for _ in range(25)]
    engine.unavailable = True
    chosen = {"action": "adopt", "_selected_action": [entry.pk for entry in entries]}
    page = text_of(office.post("/admin/projects/quarantined/", chosen, follow=True))
    assert page.count('class="error"') == 21
    assert "5 more were refused." in page
    assert Quarantined.objects.count() == 25


def test_a_refused_choice_names_the_first_types(alice: User, engine: MemoryEngine) -> None:
    make_types()
    answer = api_of(alice).post("/api/projects", {"name": "x", "type": "none"}, format="json").json()
    assert "more." in str(answer)
    assert len(str(answer)) < 2000


def test_what_is_left_out_is_counted() -> None:
    names = [str(number) for number in range(22)]
    assert join_first([]) == ""
    assert join_first(names[:20]) == ", ".join(names[:20])
    assert join_first(names) == f"{', '.join(names[:20])} and 2 more"
