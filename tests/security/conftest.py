"""Fixtures of the security tests. Their long versions: `pytest tests/security --security=long`."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from tests.accounts.phone import Phone
from tests.accounts.rights import opens, set_password_path
from tests.canaries import CANARY_PASSWORD
from tests.clients import browser_of, make_person
from tests.engines import connect
from tests.factories import plain_key
from tests.fakes.engine import MemoryEngine
from tests.instances import note_instance
from tests.security.agents import Agents, build_probe_image
from tests.security.live_credentials import Credentials, _cookie_of, _leave_traces
from tests.security.populated_service import PopulatedService


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--security",
        choices=("short", "long"),
        default="short",
        help="How much the fuzzing and the log bomb do: what fits into `make test`, or all of it (half an hour).",
    )


@pytest.fixture(scope="session")
def is_long(request: pytest.FixtureRequest) -> bool:
    # Unknown to pytest unless this folder is named on its command line.
    return bool(request.config.getoption("--security", "short") == "long")


@pytest.fixture(scope="session")
def agents() -> Iterator[Agents]:
    client = connect()
    instance = note_instance(f"s-{uuid4().hex[:8]}")
    image = build_probe_image(client, instance)
    made = Agents(client, image, instance)
    try:
        yield made
    finally:
        made.close()
        client.remove_image(image, force=True)
        client.close()


@pytest.fixture
def service(db: None, engine: MemoryEngine, settings: Any) -> PopulatedService:
    settings.BERTH_GATEWAY = True
    return PopulatedService.make(engine)


@pytest.fixture
def live(service: PopulatedService, phone: Phone) -> Credentials:
    """One of every credential, with all rows that belong to it."""
    live = Credentials()
    bob = make_person("bob")
    phone.enrol(bob)
    live.add("code", phone.secret, *phone.recovery_codes)
    live.add("password", CANARY_PASSWORD)
    live.add("token or key", issue_session(service.admin), issue_session(service.alice), plain_key(service.key))
    live.add("session cookie", *(_cookie_of(browser_of(user)) for user in (service.admin, service.staff)))
    typed, half_way, linked, setting_up = Client(), Client(), Client(), browser_of(service.alice)
    typed.post("/sign-in", {"email": service.alice.email, "password": CANARY_PASSWORD})
    half_way.post("/sign-in", {"email": bob.email, "password": CANARY_PASSWORD})
    setting_up.post("/settings/second-factor", {"password": CANARY_PASSWORD})
    fresh, opened = set_password_path(bob), set_password_path(bob)
    assert opens(opened, in_browser=linked)
    live.add("session cookie", _cookie_of(typed), _cookie_of(setting_up))
    live.add("cookie of a sign-in that waits for its code", _cookie_of(half_way))
    live.add("cookie of an opened link", _cookie_of(linked))
    live.add("set-password link", *(path.rpartition("/")[2] for path in (fresh, opened)))
    _leave_traces(service)
    return live


@pytest.fixture
def office(sam: User) -> Client:
    """The admin as staff see it."""
    return browser_of(sam)
