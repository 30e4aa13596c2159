"""A receiver of webhooks, and the watcher's alerts thread, step by step."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts import clock
from accounts.models import User
from projects.models import Project
from projects.services.alerts.channels import set_webhook
from projects.watcher.leader import beat as leader_beat
from projects.watcher.leader import become_leader
from projects.watcher.notifications import troubles
from projects.watcher.notifications.alerts import open_cursor, read_events
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from projects.watcher.reconcile.full import reconcile
from tests.fakes.http_server import FakeServer
from tests.fakes.messages import Answer, Request


class Receiver(FakeServer):
    """Receives webhooks, each as its headers and its body, and answers `status`."""

    status = 204

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[tuple[dict[str, str], bytes]] = []

    def answer(self, request: Request) -> Answer | None:
        self.taken.append(({name.lower(): value for name, value in request.headers.items()}, request.body))
        return Answer.json(self.status, {})

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.taken]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.BERTH_WEBHOOK_ALLOW = [("127.0.0.1/32", None)]
    with Receiver() as server:
        yield server


@pytest.fixture
def beat(db: None) -> Callable[[], None]:
    """A round of the watcher, and a check of the thread, which sends one message after another here."""
    deliveries = DeliveryThreads(run=lambda work: work())
    open_cursor()

    def step() -> None:
        assert become_leader("tests")
        reconcile()
        leader_beat("tests", clock.now())
        troubles.note_troubles()
        read_events(open_cursor())
        for _ in range(4):  # one message per channel at each check
            deliveries.send_due()

    return step


@pytest.fixture
def owner(project: Project) -> User:
    found = User.objects.get(pk=project.owner_id)
    open_cursor()
    return found


@pytest.fixture
def secret(owner: User, receiver: Receiver) -> str:
    """The secret of Alice's webhook, which gets all kinds of alerts."""
    return set_webhook(user=owner, url=f"{receiver.url}/hook?of=alice")
