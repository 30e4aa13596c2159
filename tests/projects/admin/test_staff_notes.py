"""Staff are warned if agents lack their firewall or stay down after a reboot."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import User
from projects.models import Watch
from projects.watcher import protection
from projects.watcher import watcher as loop
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

WARNING = "Agents can reach this host and private networks: Berth is not <root>."


def first_page(client: Client) -> str:
    return client.get(reverse("admin:index")).content.decode()


@pytest.fixture
def client(sam: User) -> Client:
    return browser_of(sam)


@pytest.mark.django_db
@pytest.mark.parametrize(("boot", "told"), [("off", True), ("on", False)])
def test_staff_are_warned_if_nothing_closes_the_network_at_boot(
    client: Client, settings: Settings, boot: str, told: bool
) -> None:
    settings.BERTH_BOOT_FIREWALL = boot
    assert ("agents stay down until Berth has set their firewall rules" in first_page(client)) == told
    assert ('class="warning"' in first_page(client)) == told


@pytest.mark.django_db
def test_staff_see_why_there_is_no_firewall_while_it_is_missing(client: Client) -> None:
    Watch.objects.create(instance="another", firewall_warning="of another installation")
    watch = Watch.objects.create(instance=settings.BERTH_INSTANCE, firewall_warning=WARNING)
    page = first_page(client)
    assert "Berth is not &lt;root&gt;." in page
    assert "of another installation" not in page
    watch.firewall_warning = ""
    watch.save()
    assert "Agents can reach" not in first_page(client)


@pytest.fixture
def watch() -> Iterator[Any]:
    with watchers_in_threads() as start:
        yield start


@pytest.mark.django_db(transaction=True)
def test_the_watcher_stores_the_engine_s_report_of_its_firewall(
    engine: MemoryEngine, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(protection, "FIREWALL_EVERY", 0.0)
    engine.firewall_warning = WARNING
    watch()
    wait_until(lambda: Watch.objects.filter(firewall_warning=WARNING).exists())
    engine.firewall_warning = None
    wait_until(lambda: Watch.objects.filter(firewall_warning="").exists())
