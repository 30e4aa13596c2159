"""An agent in quarantine, and the browser of the staff."""

import pytest
from django.test import Client

from accounts.models import User
from projects.models import Project, Quarantined
from projects.watcher.reconcile.full import reconcile
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.other_databases import grow_old, lose_row


@pytest.fixture
def entry(project: Project, engine: MemoryEngine) -> Quarantined:
    lose_row()
    grow_old(engine)
    reconcile()
    return Quarantined.objects.get()


@pytest.fixture
def admin(sam: User) -> Client:
    return browser_of(sam)
