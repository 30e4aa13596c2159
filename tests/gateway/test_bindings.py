"""From which address a credential is valid if the address cannot be known beforehand."""

import pytest
from gateway.entries.bindings import REST, Bindings

pytestmark = pytest.mark.one_database


def test_an_address_has_a_credential_while_something_is_in_flight_and_a_while_longer() -> None:
    now = [1000.0]
    bindings = Bindings(lambda: now[0])
    assert bindings.admits("p", "one")
    with bindings.in_use("p"):
        now[0] += 10 * REST
        assert not bindings.admits("p", "two")
    now[0] += REST - 1
    assert not bindings.admits("p", "two")
    assert bindings.admits("p", "one")
    now[0] += REST - 1
    assert not bindings.admits("p", "two"), "It counts anew with each request."
    now[0] += 1
    assert bindings.admits("p", "two")
    assert not bindings.admits("p", "one")
