"""Someone starts the service a second time, on the same database, with other keys."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.matrix.installation import Installation
from tests.chaos.matrix.whole_service import PATIENCE
from tests.paths import ROOT
from tests.ports import reserve_port

REFUSES = "BERTH_ENCRYPTION_KEYS does not hold the key"


@contextmanager
def beside_other_keys(installation: Installation) -> Iterator[None]:
    """It must say what is wrong, and end before it has done anything."""
    folder = installation.service_disk.path / "other"
    folder.mkdir(exist_ok=True)
    environment = installation.service.site.environment | {
        "BERTH_DATA_DIR": str(folder),
        "BERTH_PORT": str(reserve_port()),
    }
    other = subprocess.Popen(
        [sys.executable, "manage.py", "serve"], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        yield
        told, _ = other.communicate(timeout=PATIENCE)
    finally:
        other.kill()
    assert other.returncode, told
    assert REFUSES in told, told
