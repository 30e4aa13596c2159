"""While an outside server is slow, few requests wait for it, all are answered, others at once, and nothing is left
behind.

The answers show that each request ends by its own limit. How long anything takes on a busy machine is not checked.
"""

import os
import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import requests

from tests.chaos.database.requests import Answer
from tests.config.serving.slow_others.conftest import Scene
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.one_database,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="Only root may have a name server of its own."),
]

GUARD = 90.0
CREATES = 40
MOST = 4
"""Creates of one user that may wait at a time, of sixteen threads."""
READS = ("/api/projects", "/api/plans", "/healthz", "/sign-in")


def drip(name: str) -> Callable[[Scene], None]:
    return lambda scene: scene.relays[name].break_("drip")


def hang(name: str) -> Callable[[Scene], None]:
    return lambda scene: scene.relays[name].break_("hang")


def silence_names(scene: Scene) -> None:
    scene.names.is_silent = True


ASKED_BY_A_CREATE = {
    "Telegram drips": (drip("telegram"), "telegram_unverified", "telegram"),
    "Telegram hangs": (hang("telegram"), "telegram_unverified", "telegram"),
    "the provider drips": (drip("provider"), "provider_unverified", "provider"),
    "the name server is silent": (silence_names, "telegram_unverified", "telegram"),
}


class Reading:
    """Another user, who reads all the time."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._ended = scene, threading.Event()
        self.statuses: Counter[int] = Counter()
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        while not self._ended.is_set():
            for path in READS:
                self.statuses[self._scene.bob.send("GET", path).status] += 1

    def __enter__(self) -> "Reading":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def create_many(scene: Scene, number: int) -> list[Answer]:
    bodies = [scene.new_body(f"Agent {each}") for each in range(number)]
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(partial(scene.alice.send, "POST", "/api/projects"), bodies))


@pytest.mark.parametrize("fault", ASKED_BY_A_CREATE)
def test_forty_slow_creates_delay_nobody_and_leave_nothing(healed: Scene, fault: str) -> None:
    scene = healed
    break_, warning, asked = ASKED_BY_A_CREATE[fault]
    relay = scene.relays[asked]
    relay.most_open = 0
    break_(scene)
    with Reading(scene) as reading:
        answers = create_many(scene, CREATES)
        wait_until(lambda: reading.statuses[200] >= len(READS))
    assert set(reading.statuses) == {200}
    assert set(statuses := Counter(answer.status for answer in answers)) == {201, 429}
    assert relay.most_open <= MOST
    for answer in answers:
        if answer.status == 429:
            assert answer.headers["retry-after"].isdecimal()
    made = [answer.json for answer in answers if answer.status == 201]
    listed = scene.alice.send("GET", "/api/projects").json
    assert {each["id"] for each in listed} == {each["id"] for each in made}
    assert {each["status"] for each in listed} == {"running"}
    events = [scene.alice.send("GET", f"/api/projects/{each['id']}/events").text for each in made]
    assert len(events) == statuses[201]
    assert all(warning in event for event in events)


def test_each_place_is_given_back(healed: Scene) -> None:
    drip("telegram")(healed)
    assert {answer.status for answer in create_many(healed, MOST)} == {201}
    healed.relays["telegram"].heal()
    assert {answer.status for answer in create_many(healed, MOST)} == {201}


@pytest.mark.parametrize("break_", [drip("redis"), hang("redis")], ids=["drips", "hangs"])
def test_a_slow_redis_is_asked_by_few_requests_and_delays_nobody(
    healed: Scene, break_: Callable[[Scene], None]
) -> None:
    """Each thread has a connection of its own: without the pause all of them would wait."""
    relay = healed.relays["redis"]
    break_(healed)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: healed.bob.send("GET", "/api/projects").status, range(200)))
    assert answers == [200] * 200
    asked = relay.accepted
    assert [healed.bob.send("GET", "/api/projects").status for _ in range(20)] == [200] * 20
    assert relay.accepted - asked <= 2, "it is left alone"


def test_no_request_talks_to_the_mail_server(healed: Scene) -> None:
    healed.relays["mail"].break_("drip")
    page = f"http://127.0.0.1:{healed.alice.port}/sign-up"
    shown = requests.get(page, timeout=GUARD)
    [(name, value)] = shown.cookies.items()
    [token] = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', shown.text)
    for number in range(3):
        form = {"email": f"guest{number}@example.org", "csrfmiddlewaretoken": token}
        # Like a browser, for which this machine counts as https.
        answer = requests.post(page, form, headers={"Cookie": f"{name}={value}"}, timeout=GUARD)
        assert answer.status_code == 200, answer.text
        assert f"guest{number}@example.org" in answer.text
    assert healed.relays["mail"].accepted == 0
