"""Machines with one database have the same keys, or are told which one differs."""

import os
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.test import Client
from django.utils import timezone

from config.serving.key_comparison import ComparedKeys, _is_to_tell
from projects.models import KeyCheck, Watch
from projects.models.processes.holder import is_elsewhere, name_process
from projects.services.credentials.key_rotation import check_keys
from projects.services.credentials.shared_keys import UnsharedKeyError, check_shared_keys, find_unshared_key

pytestmark = pytest.mark.django_db

CHANGES: dict[str, dict[str, Any]] = {
    "BERTH_SECRET_KEY": {"SECRET_KEY": "another secret key, just as long as ours is"},
    "BERTH_TOKEN_KEY": {"BERTH_TOKEN_KEY": "another token key, just as long as ours is"},
    "BERTH_CACHE_URL": {"BERTH_COUNT_IN_CACHE": True},
}


def lead(holder: str, settings: Any, *, left: float = 10) -> None:
    until = timezone.now() + timedelta(seconds=left)
    Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults={"holder": holder, "lease_until": until})


@pytest.mark.parametrize("name", CHANGES)
def test_a_key_that_differs_from_a_running_machine_s_is_reported_in_one_sentence(name: str, settings: Any) -> None:
    check_shared_keys()
    lead("another-boot/4026531836 7", settings)
    check_shared_keys()  # the same ones
    for setting, value in CHANGES[name].items():
        setattr(settings, setting, value)
    for _ in range(2):
        with pytest.raises(UnsharedKeyError, match=f"^{name} differs from that of another machine") as told:
            check_shared_keys()
        assert not any(str(value) in str(told.value) for value in CHANGES[name].values() if value is not True)


@pytest.mark.parametrize("by", ["nobody", "this machine", "one that fell silent", "one without a place"])
def test_without_another_running_machine_a_changed_key_is_accepted(by: str, settings: Any) -> None:
    check_shared_keys()
    if by != "nobody":
        holder = {"this machine": name_process(), "one without a place": "host-17-0123456789abcdef"}
        lead(holder.get(by, "another-boot/1 7"), settings, left=-1 if by == "one that fell silent" else 10)
    settings.SECRET_KEY = CHANGES["BERTH_SECRET_KEY"]["SECRET_KEY"]
    check_shared_keys()
    lead("another-boot/1 7", settings)
    check_shared_keys()


def test_keys_are_not_stored_and_their_checks_do_not_block_a_rotation(settings: Any) -> None:
    check_keys()
    check_shared_keys()
    stored = " ".join(KeyCheck.objects.values_list("ciphertext", flat=True))
    assert settings.SECRET_KEY not in stored
    KeyCheck.objects.exclude(pk=1).update(ciphertext="of a key that is gone")
    lead("another-boot/1 7", settings)
    check_shared_keys()
    assert "of a key that is gone" not in KeyCheck.objects.values_list("ciphertext", flat=True)


def test_only_a_process_of_another_machine_counts_as_elsewhere() -> None:
    assert is_elsewhere("another-boot/1 7")
    assert not any(map(is_elsewhere, (name_process(), "", "host-17-abc", "a b c")))


@pytest.mark.parametrize("name", CHANGES)
def test_a_running_server_reports_that_another_started_with_other_keys(
    name: str, settings: Any, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """No watcher leads elsewhere: the other machine is `web`, or this one is and the watcher was on the other."""
    compared = ComparedKeys()
    assert find_unshared_key() == ""
    check_shared_keys()
    with mock.patch.multiple(settings, **CHANGES[name]):
        check_shared_keys()  # the other machine
        assert find_unshared_key() == ""
    assert find_unshared_key() == name
    for _ in range(2):
        compared.compare()
    assert [record.message.split(" ")[0] for record in caplog.records] == [name]
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["keys"]) == (503, "differ")
    assert client.get("/readyz/server").status_code == 200
    KeyCheck.objects.update(ciphertext="of a key that is gone")
    assert find_unshared_key() == ""
    assert "keys" not in client.get("/readyz").json()


def test_one_process_of_a_server_reports() -> None:
    assert _is_to_tell()
    assert _is_to_tell()
    child = os.fork()
    if child == 0:
        os._exit(int(_is_to_tell()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
