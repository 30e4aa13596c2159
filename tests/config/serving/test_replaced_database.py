"""A running server whose SQLite file someone has replaced or removed uses it no further, and says so."""

import json
import shutil
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from accounts.credentials.api_keys import make_key
from tests.config.serving.served import Served
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


def _ready(served: Served) -> dict[str, Any]:
    return _get(served, "/readyz")


def _get(served: Served, path: str) -> dict[str, Any]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{served.port}{path}", headers={"Authorization": f"Bearer {make_key()}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        with error:
            return dict(json.load(error))


def _restore(database: Path) -> None:
    """As an operator who copies a backup of the files back."""
    copy = database.with_name("copy")
    shutil.copy2(database, copy)
    copy.replace(database)


def _remove(database: Path) -> None:
    database.rename(database.with_name("former"))


@pytest.mark.parametrize("act", [_restore, _remove])
def test_another_file_in_the_place_of_the_database_is_noticed_by_every_worker(
    served: Served, act: Callable[[Path], None]
) -> None:
    served.wait_until_up()
    wait_until(lambda: _ready(served)["database"] == "ok")
    (database,) = served.log.parent.glob("*.sqlite3")
    act(database)
    for _ in range(20):  # each asks another thread, perhaps of another worker
        assert _ready(served) | {"database": "replaced", "status": "unavailable"} == _ready(served)
        refused = _get(served, "/api/projects")
        assert (refused["code"], "replaced or removed" in refused["detail"]) == ("database_unavailable", True)
    served.process.terminate()
    assert served.process.wait(60) == 0
    assert "Traceback" not in served.log.read_text()
    if database.exists():
        with closing(sqlite3.connect(database)) as restored:
            assert restored.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
