"""What the matrix's witness of the engine notices between two looks."""

from collections.abc import Iterator
from unittest.mock import Mock

import docker
import pytest
import requests
import urllib3

from tests.chaos.matrix.reader import is_lie
from tests.chaos.matrix.witness import Witness
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

BROKEN = (docker.errors.APIError("gone"), requests.ConnectionError(), urllib3.exceptions.ProtocolError(), ValueError())


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
        wait_until(lambda: witness.sightings and not is_lie("stopped", "short", witness.sightings))
        assert is_lie("stopped", "other", witness.sightings)
    finally:
        witness.close()
    moments = [sighting.at for sighting in witness.sightings]
    assert moments == sorted(moments)
