"""A program that cannot start gets no handover, and the former one serves on."""

import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.config.serving.notified import PATIENT, Notified, core
from tests.config.serving.served import PATIENCE, Served, serving
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def served(tmp_path: Path, notified: Notified) -> Iterator[Served]:
    with serving(tmp_path, NOTIFY_SOCKET=notified.path, WATCHDOG_USEC="1500000") as running:
        yield running


def break_settings(data: Path) -> None:
    (data / "token_key.key").write_text("short\n")


def begin_restore(data: Path) -> None:
    (data / "restore.json").write_text('{"archive": "a", "installation": "b"}')


def migrate_further(data: Path) -> None:
    with closing(sqlite3.connect(data / "berth.sqlite3")) as database:
        database.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('projects', '9999_later', 0)")
        database.commit()


def change_key(data: Path) -> None:
    (data / "encryption_keys.key").write_text(Fernet.generate_key().decode())


OBSTACLES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a damaged key": (break_settings, "token_key.key is damaged"),
    "a restore": (begin_restore, "A restore has begun but not finished"),
    "a newer database": (migrate_further, "A newer version of Berth has used this database"),
    "another encryption key": (change_key, "BERTH_ENCRYPTION_KEYS"),
}


@pytest.mark.rare(2)
def test_a_program_that_cannot_start_is_not_handed_over_to(served: Served, notified: Notified, tmp_path: Path) -> None:
    """`reload` has passed its own checks: it may run as another user, with other settings."""
    served.wait_until_up()
    first, family = served.process.pid, core(served)
    for number, (prevent, sentence) in enumerate(OBSTACLES.values(), start=1):
        kept = {path: path.read_bytes() for path in tmp_path.glob("*.key")}
        prevent(tmp_path)
        served.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: len(refusals(served)) == number, within=PATIENT, what=served.log.read_text)  # noqa: B023 - waits here
        assert sentence in refusals(served)[-1]
        assert (served.process.pid, core(served)) == (first, family)
        assert served.is_up()
        (tmp_path / "restore.json").unlink(missing_ok=True)
        for path, content in kept.items():
            path.write_bytes(content)
        forget_later_migrations(tmp_path)
    wait_until(lambda: notified.heard()[-1] == "READY=1", within=PATIENCE)
    (tmp_path / "token_key.key").write_text("short\n")
    served.environment["BERTH_TOKEN_KEY"] = "the key of a shell that the service does not have"
    reloaded = served.command("reload", within=PATIENT)
    assert reloaded.returncode == 1
    [said] = reloaded.stderr.splitlines()
    assert "Berth did not restart, and the previous program serves on: BERTH_TOKEN_KEY: the file" in said
    assert core(served) == family


def refusals(served: Served) -> list[str]:
    return [line for line in served.log.read_text().splitlines() if "The new program cannot start" in line]


def forget_later_migrations(data: Path) -> None:
    with closing(sqlite3.connect(data / "berth.sqlite3")) as database:
        database.execute("DELETE FROM django_migrations WHERE name = '9999_later'")
        database.commit()
