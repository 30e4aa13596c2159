"""A user gets all 600 reads of a minute, however many workers there are and whichever of them answers."""

import json
import re
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.config.serving.served import Served, children_of, serving
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

READS, MORE = 600, 60
LEFT = 45
"""Seconds of the minute that must be left when the reads begin."""


def _call(served: Served, path: str, token: str = "", body: bytes | None = None) -> tuple[int, str, bytes]:
    """Opens a connection of its own, which any worker may accept. Returns status, `RateLimit` and body."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(f"http://127.0.0.1:{served.port}{path}", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers.get("RateLimit", ""), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("RateLimit", ""), error.read()


def _seconds_left(served: Served, token: str) -> int:
    """Uses up a read."""
    return int(re.findall(r"t=(\d+)", _call(served, "/api/projects", token)[1])[0])


def _read_all(served: Served, token: str) -> Counter[int] | None:
    """Returns how often each status came, or None if the minute ended meanwhile."""
    wait_until(lambda: _seconds_left(served, token) >= LEFT, within=120, every=1.0)
    before = _seconds_left(served, token)
    spent = READS - int(re.findall(r"r=(\d+)", _call(served, "/api/projects", token)[1])[0])
    with ThreadPoolExecutor(8) as threads:
        call = partial(_call, served, "/api/projects")
        statuses = Counter(status for status, _, _ in threads.map(call, [token] * (READS - spent + MORE)))
    left = int(re.findall(r"t=(\d+)", _call(served, "/api/projects", token)[1])[0])
    return statuses + Counter({200: spent}) if left <= before else None


@pytest.mark.rare(2)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_all_reads_of_a_minute_are_granted_and_no_more(tmp_path: Path, workers: int) -> None:
    with serving(tmp_path, BERTH_WORKERS=str(workers)) as served:
        wait_until(served.is_up, what=served.log.read_text)
        wait_until(lambda: len(children_of(served.web)) == workers, what=served.log.read_text)
        asked = {"email": "admin@berth.localhost", "password": served.environment["BERTH_ADMIN_PASSWORD"]}
        status, _, answer = _call(served, "/api/auth/login", body=json.dumps(asked).encode())
        assert status == 200, answer
        token = json.loads(answer)["token"]
        found = wait_until(lambda: _read_all(served, token), within=400)
    assert found == {200: READS, 429: MORE}
