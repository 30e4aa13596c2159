"""Credentials that nothing needs are removed from the Swarm, and those that stay are found later."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import EngineFailedError
from containers.identity import container_name, own_labels
from containers.swarm.engine import SwarmEngine
from containers.swarm.services.secrets import Secrets
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import Manager, manager
from tests.fakes.messages import Answer

TWO = replace(SPEC, secrets={"one": "s3cret", "two": "s3cret"}, generation=4)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    with manager(monkeypatch) as found:
        found.rows["secrets"] = []
        yield found


@pytest.mark.parametrize("refused", ["-0-", "-1-"])
def test_a_failed_secret_removes_all_others(fake: Manager, refused: str) -> None:
    fake.refuses = refused
    with pytest.raises(EngineFailedError, match="no leader"):
        Secrets(Connection()).make(TWO)
    assert fake.rows["secrets"] == []
    fake.refuses = ""
    assert len(Secrets(Connection()).make(TWO)) == len(fake.rows["secrets"]) == 2


def test_those_of_ours_are_listed_as_the_volume_of_an_agents_credentials(fake: Manager) -> None:
    labels = {**own_labels(), "berth.project": "k"}
    theirs = {**labels, "berth.installation": "somebody"}
    for number, each in enumerate([labels, labels, theirs, {"berth.instance": settings.BERTH_INSTANCE}]):
        made = f"2026-01-0{3 - number % 2}T00:00:00Z"
        fake.rows["secrets"].append({"ID": f"i{number}", "CreatedAt": made, "Spec": {"Name": "n", "Labels": each}})
    fake.bodies["/volumes"] = Answer.json(200, {"Volumes": None})
    [found] = SwarmEngine().list_volumes({})
    assert (found.name, found.key, found.labels) == (f"{container_name('k')}-secrets", "k", labels)
    assert found.created_at == datetime(2026, 1, 2, tzinfo=UTC)
