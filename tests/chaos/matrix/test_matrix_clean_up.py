"""What the matrix asks again after a fault, and what it reports if that never works."""

import json
from collections.abc import Mapping
from unittest.mock import Mock

import pytest

from tests.chaos.database.requests import Answer
from tests.chaos.matrix import trial

pytestmark = pytest.mark.one_database


def test_a_list_refused_after_the_fault_is_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Answer(status=503, seconds=0.1, headers={"retry-after": "0"}, text='{"code": "database_unavailable"}')
    lists = [refusal, Answer(status=200, seconds=0.1, headers={}, text="[]")]
    client, installation = Mock(), Mock()
    client.send.side_effect = lambda *_: lists.pop(0) if len(lists) > 1 else lists[0]
    installation.instance.containers.return_value = installation.instance.volumes.return_value = []
    assert trial._clean_up(installation, client) == []
    monkeypatch.setattr(trial, "HEALS_WITHIN", 0.0)
    client.send.side_effect = [refusal, lists[0]]
    assert trial._clean_up(installation, client) == [f"list afterwards: 503 {refusal.text}"]


@pytest.mark.parametrize("code", ["operation_in_progress", "superseded"])
def test_a_start_that_another_operation_overtakes_is_repeated_and_reported_if_it_never_works(
    monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    conflict = Answer(status=409, seconds=0.1, headers={"retry-after": "0"}, text=json.dumps({"code": code}))
    listed, done, gone, none = (
        Answer(status=status, seconds=0.1, headers={}, text=text)
        for status, text in ((200, '[{"id": "1"}]'), (200, "{}"), (204, ""), (200, "[]"))
    )
    client, installation = Mock(), Mock()
    installation.instance.containers.return_value = installation.instance.volumes.return_value = []
    client.send.side_effect = [listed, conflict, conflict, done, gone, none]
    assert trial._clean_up(installation, client) == []
    monkeypatch.setattr(trial, "HEALS_WITHIN", 0.0)
    client.send.side_effect = [listed, conflict, gone, none]
    assert trial._clean_up(installation, client) == [f"start afterwards: 409 {conflict.text}"]


@pytest.mark.parametrize(("status", "lost"), [(201, {"d"}), (502, {"d", "c"})])
def test_what_an_engine_of_another_directory_has_again_is_removed(status: int, lost: set[str]) -> None:
    """The deleted project, and what a creation left that was undone on the other one."""
    removed: set[str] = set()
    installation, client = Mock(), Mock()
    installation.instance.client = client
    installation.instance.projects.return_value = ["d", "s"]
    installation.instance.volume_projects.return_value = {"c", "s"}

    def note(*, filters: Mapping[str, str], **_: object) -> list[object]:
        removed.add(filters["label"].rpartition("=")[2])
        return []

    client.containers.side_effect = note
    client.volumes.return_value = {"Volumes": None}
    created = Answer(status=status, seconds=0.1, headers={}, text='{"id": "c"}')
    trial._remove_lost(installation, {"delete": "d", "start": "s"}, created)
    assert removed == lost
