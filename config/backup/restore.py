"""Restores a backup. Everything is checked before anything is written, and a killed run can be repeated."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import DatabaseError, connection, models, transaction
from django.db.models import F
from django.views.decorators.debug import sensitive_variables

from accounts.models import User
from config.backup.archive import ArchiveReader
from config.backup.errors import BackupError
from config.backup.keys import current_keys, encryption_keys, installed_keys, read_key_file
from config.backup.manifest import Table, read_manifest
from config.backup.marker import only_one
from config.backup.memory import restore_memories
from config.backup.plan import Plan, RestoreOptions, make_plan, read_present
from config.backup.rows import ROWS_TOLD, parse_rows, write_rows
from config.backup.schema import (
    Migration,
    archived_models,
    copies,
    migrate_to,
    tables_of,
)
from config.backup.undisturbed import signals_held_back
from config.database.faults import InUseError
from containers.identity import forget_installation_id
from projects.models import Installation, Project
from projects.services.alerts.service_health import note_backup

IN_USE = "Something else uses the database. Stop Berth on every machine, then run this again."

UNSEEN = 1000
"""More pairing codes than anyone creates for one project between a backup and its restore."""

Report = Callable[[str], None]


@contextmanager
@sensitive_variables("keys")
def planned_restore(options: RestoreOptions) -> Iterator["Restore"]:
    """Checks everything that can be checked, and writes nothing. Raises `BackupError`."""
    keys = read_key_file(options.keys_path) if options.keys_path else current_keys()
    with only_one(), ArchiveReader.open(options.archive) as reader:
        manifest = read_manifest(reader, keys=encryption_keys(keys))
        yield Restore(options, reader, make_plan(options, reader, manifest, keys))


class Restore:
    def __init__(self, options: RestoreOptions, reader: ArchiveReader, plan: Plan) -> None:
        self._options = options
        self._reader = reader
        self._has_changed_anything = plan.has_begun
        self.plan = plan

    def carry_out(self, report: Report = lambda _: None) -> None:
        """May be run again after a kill at any point; the result is the same as without the kill.
        Raises `BackupError`.
        """
        marker = self.plan.marker
        if marker.finished:
            marker.finished, marker.memory = False, []
        try:
            marker.write()
            self._carry_out(report)
        except BaseException:  # also Ctrl-C
            if not (self._has_changed_anything or marker.finished):
                marker.remove()  # Berth may continue with its current data
            raise
        finally:
            forget_installation_id()

    def _carry_out(self, report: Report) -> None:
        try:
            self._replace(report)
        except InUseError:
            raise BackupError(f"{IN_USE} {self._what_stays}") from None
        except (DatabaseError, sqlite3.DatabaseError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise BackupError(f"The database cannot be written ({reason}). {self._what_stays}") from None
        except BrokenPipeError:  # of the output, which reports the progress
            raise
        except OSError as error:
            raise BackupError(f"The database cannot be written ({error.strerror}). {self._what_stays}") from None

    @property
    def _what_stays(self) -> str:
        if not self._has_changed_anything:
            return "The database and the keys stay as they were."
        return "The restore has begun, so finish it before you start Berth."

    def _replace(self, report: Report) -> None:
        """Fills a new database and, at its end, puts it and the keys in place."""
        wanted = {(app, name) for app, name in self.plan.manifest.migrations}
        present = read_present()
        replaced = copies().replaced(connection, tables=tables_of(present), keep_schema=present == wanted)
        # If the database cannot be put in place, the former keys return.
        with ExitStack() as end, ExitStack() as keys, replaced:
            self._fill(wanted, report)
            end.enter_context(self._finished())
            keys.enter_context(self._replaced_keys(report))

    @contextmanager
    def _finished(self) -> Iterator[None]:
        """A signal takes effect afterwards: between the database and its keys, it would leave one without the other."""
        with signals_held_back():
            yield
            self.plan.marker.finished, self.plan.marker.replacing = True, False
            self.plan.marker.write()

    @contextmanager
    def _replaced_keys(self, report: Report) -> Iterator[None]:
        """A process that is killed inside may leave new keys with the old database, and the marker says so."""
        marker, former = self.plan.marker, self.plan.marker.replacing
        marker.replacing = True
        marker.write()
        try:
            with installed_keys(self.plan.keys, report):
                yield
        except BaseException:
            marker.replacing = former
            marker.write()
            raise

    def _fill(self, wanted: set[Migration], report: Report) -> None:
        migrate_to(wanted, report=report)
        found = archived_models(wanted)
        with transaction.atomic():
            for model in found:
                model._default_manager.all().delete()  # rows that migrations have created
            for table, model in zip(self.plan.manifest.tables, found, strict=True):
                self._fill_table(table, model, report)
        migrate_to(report=report)
        settle_rows()
        note_backup(self.plan.manifest.made_at)
        forget_installation_id()
        if self._options.with_memory:
            self._has_changed_anything = True
            done = {*self.plan.marker.memory, *self.plan.flawed}
            restore_memories(self._reader, self.plan.manifest, done=done, note=self._note_memory, report=report)

    def _fill_table(self, table: Table, model: type[models.Model], report: Report) -> None:
        rows = parse_rows(model, self._reader.content(table.member).lines())
        for done in write_rows(model, rows):
            if done % ROWS_TOLD == 0:
                report(f"… {table.model}: {done} of {table.rows} rows")
        if table.sequence is not None:
            key: Any = model._meta.pk
            copies().pass_over(connection, model._meta.db_table, key.column, table.sequence)

    def _note_memory(self, key: str) -> None:
        self.plan.marker.memory.append(key)
        self.plan.marker.write()


def settle_rows() -> None:
    """Adjusts rows that were true when the backup was made and no longer are.

    Everyone must sign in again, because sessions that have ended since would be valid again. An agent that is not seen
    to run yet must not be held responsible. Pairing codes get numbers that no agent has seen, because an agent accepts
    each number only once.
    """
    User.objects.update(session_version=F("session_version") + 1)
    Installation.objects.update(held_because="", held_since=None)
    Project.objects.update(recreated_at=None, pairing_number=F("pairing_number") + UNSEEN)
