"""What the matrix's witness of the engine notices between two looks."""

import threading
import time
from collections.abc import Iterator
from unittest.mock import Mock

import docker
import pytest
import requests
import urllib3

from tests.chaos.matrix.reader import about, choose, is_lie
from tests.chaos.matrix.witness import Sighting, Witness
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

BROKEN = (docker.errors.APIError("gone"), requests.ConnectionError(), urllib3.exceptions.ProtocolError(), ValueError())


def says(witness: Witness, project: str) -> list[Sighting]:
    return about(project, witness.sightings)


@pytest.mark.parametrize("broken", BROKEN, ids=repr)
def test_an_end_between_two_looks_is_heard_even_after_a_broken_stream(broken: Exception) -> None:
    instance = Mock()
    instance.states.return_value = {"short": "running", "other": "running"}

    def ends() -> Iterator[str]:
        wait_until(lambda: witness.sees({"short", "other"}))
        yield "short"

    instance.ends.side_effect = [broken, ends(), *[requests.ConnectionError()] * 1000]
    witness = Witness(instance)
    try:
        wait_until(lambda: says(witness, "short") and not is_lie("stopped", "short", says(witness, "short")))
        assert is_lie("stopped", "other", says(witness, "other"))
    finally:
        witness.close()
    moments = [sighting.at for sighting in witness.sightings]
    assert moments == sorted(moments)


def test_an_end_says_nothing_about_a_project_that_started_since_the_last_look() -> None:
    """The engine holds back the answers to looks while a shim is stopped, and reports ends."""
    instance, heard = Mock(), threading.Event()
    moments: list[float] = []

    def states() -> dict[str, str]:
        if heard.is_set():
            return {"late": "running"}
        if moments:
            raise requests.ReadTimeout
        return {"short": "running"}

    def ends() -> Iterator[str]:
        wait_until(lambda: witness.sees({"short"}))
        moments.append(time.monotonic())
        yield "short"
        heard.set()

    instance.states.side_effect, instance.ends.side_effect = states, [ends(), *[requests.ConnectionError()] * 1000]
    witness = Witness(instance)
    try:
        wait_until(lambda: witness.sees({"late"}))
    finally:
        witness.close()
    assert not is_lie("running", "late", choose(says(witness, "late"), moments[0], moments[0]))
