"""What the matrix asks again after a fault, and what it reports if that never works."""

import json
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
