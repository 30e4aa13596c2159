"""The encryption keys at the start, and their rotation."""

from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from projects.models import KeyCheck, Project
from projects.services.credentials.key_rotation import check_keys, rotate_secrets
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN


def new_key() -> str:
    return Fernet.generate_key().decode()


def rotate() -> str:
    out = StringIO()
    call_command("rotate_secrets", stdout=out, no_color=True)
    return out.getvalue()


def test_the_first_start_stores_the_key_check_and_later_ones_read_it(db: None) -> None:
    check_keys()
    check_keys()
    assert KeyCheck.objects.count() == 1


@pytest.mark.parametrize("command", ["prepare", "serve", "watch", "reconcile"])
def test_a_wrong_key_prevents_the_start_with_one_sentence(
    command: str, db: None, settings: Any, unused_port: int
) -> None:
    check_keys()
    settings.BERTH_PORT = unused_port
    settings.BERTH_ENCRYPTION_KEYS = [new_key()]
    with pytest.raises(
        ImproperlyConfigured, match=r"^BERTH_ENCRYPTION_KEYS does not hold the key .* if there is one\.$"
    ):
        call_command(command, stdout=StringIO())


def test_after_a_rotation_the_old_key_is_not_needed(deploy: Any, settings: Any) -> None:
    check_keys()
    for number in range(3):
        deploy(telegramToken=CANARY_TELEGRAM_TOKEN if number == 0 else f"{number}:token")
    old, new = settings.BERTH_ENCRYPTION_KEYS[0], new_key()
    settings.BERTH_ENCRYPTION_KEYS = [new, old]
    assert "3 of 3 projects" in rotate()
    settings.BERTH_ENCRYPTION_KEYS = [new]
    check_keys()
    for project in Project.objects.all():
        assert project.decrypt_credential("api_key") == CANARY_API_KEY
    assert Project.objects.get(bot_id=1).decrypt_credential("telegram_token") == "1:token"


def test_an_interrupted_rotation_is_resumed(deploy: Any, settings: Any) -> None:
    check_keys()
    for number in range(1, 4):
        deploy(telegramToken=f"{number}:token")
    settings.BERTH_ENCRYPTION_KEYS = [new_key(), *settings.BERTH_ENCRYPTION_KEYS]
    next(iter(rotate_secrets()))
    first = Project.objects.order_by("pk")[0].api_key_ciphertext
    rotate()
    assert Project.objects.order_by("pk")[0].api_key_ciphertext == first  # not written again
    settings.BERTH_ENCRYPTION_KEYS = settings.BERTH_ENCRYPTION_KEYS[:1]
    assert {project.decrypt_credential("api_key") for project in Project.objects.all()} == {CANARY_API_KEY}


def test_a_change_by_an_owner_during_a_rotation_is_not_overwritten(project: Project, settings: Any) -> None:
    settings.BERTH_ENCRYPTION_KEYS = [new_key(), *settings.BERTH_ENCRYPTION_KEYS]
    rotation = rotate_secrets()
    changed = Project.objects.get()
    fields = changed.encrypt_credentials(api_key="sk-changed-meanwhile")
    changed.save(update_fields=fields)
    list(rotation)
    assert Project.objects.get().decrypt_credential("api_key") == "sk-changed-meanwhile"


def test_a_secret_that_no_key_decrypts_is_reported_and_kept(project: Project, settings: Any) -> None:
    before = project.api_key_ciphertext
    settings.BERTH_ENCRYPTION_KEYS = [new_key()]
    with pytest.raises(CommandError, match=r"The (telegram token|api key) of project .* cannot be decrypted"):
        rotate()
    assert Project.objects.get().api_key_ciphertext == before
