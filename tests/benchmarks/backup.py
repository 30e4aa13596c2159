"""How long a backup and a restore take, and how much memory: `python -m tests.benchmarks.backup --events 100000`.

On SQLite in a directory of its own, or on an empty database that `DATABASE_URL` names.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from uuid import uuid4

import django

MEBIBYTE = 1024 * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a backup and a restore.")
    parser.add_argument("--events", type=int, default=100_000)
    events: int = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="berth-backup-") as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "BERTH_DATA_DIR": folder, "BERTH_INSTANCE": "bench"}
        django.setup()
        run(Path(folder), events)


def run(folder: Path, events: int) -> None:
    from django.core.management import call_command
    from django.db import connection, transaction
    from django.utils import timezone

    from projects.models import Event

    connection.force_debug_cursor = False
    call_command("migrate", interactive=False, verbosity=0)
    with transaction.atomic():
        owner = uuid4()
        values = {"project_id": owner, "owner_id": owner, "at": timezone.now(), "actor": "somebody"}
        rows = (Event(action="deploy", outcome="done", **values) for _ in range(events))
        Event.objects.bulk_create(rows, batch_size=1000)
    archive = folder / "bench.tar"
    output = StringIO()
    measure("backup", lambda: call_command("backup", str(archive), stdout=output))
    measure("check", lambda: call_command("restore", str(archive), "--dry-run", "--replace", stdout=output))
    measure("restore", lambda: call_command("restore", str(archive), "--replace", stdout=output))
    assert Event.objects.count() == events
    sys.stdout.write(f"archive  {archive.stat().st_size / MEBIBYTE:6.1f} MiB\n")


def measure(name: str, work: Callable[[], object]) -> None:
    """The memory is the peak of the process so far."""
    before, began = peak(), time.monotonic()
    work()
    seconds = time.monotonic() - began
    sys.stdout.write(f"{name:8} {seconds:6.1f} s, {peak() - before:+6.1f} MiB above {before:.0f} MiB\n")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
