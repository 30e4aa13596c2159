"""While a database answers nobody, one request tries, and all others fail at once."""

import pytest
from psycopg import OperationalError

from config.database.gate import Gate


def fail(gate: Gate, *, is_patient: bool = True) -> None:
    with pytest.raises(OperationalError, match="refused"), gate.passing(is_patient=is_patient):
        raise OperationalError("refused")


def test_the_gate_is_open_while_the_database_answers() -> None:
    gate = Gate()
    with gate.passing(is_patient=True), gate.passing(is_patient=True):
        pass


def test_after_a_failed_connection_one_attempt_at_a_time_is_allowed() -> None:
    gate = Gate()
    fail(gate)
    with gate.passing(is_patient=True):
        for _ in range(3):
            with pytest.raises(OperationalError, match="did not answer recently"), gate.passing(is_patient=True):
                pass
    with gate.passing(is_patient=True), gate.passing(is_patient=True):
        pass


def test_a_failed_attempt_passes_the_turn_on() -> None:
    gate = Gate()
    for _ in range(3):
        fail(gate)
    with gate.passing(is_patient=True):
        pass


def test_a_request_without_time_left_does_not_blame_the_database() -> None:
    gate = Gate()
    fail(gate, is_patient=False)
    with gate.passing(is_patient=True), gate.passing(is_patient=True):
        pass


def test_an_error_of_berth_does_not_close_the_gate() -> None:
    gate = Gate()
    with pytest.raises(ValueError, match="ours"), gate.passing(is_patient=True):
        raise ValueError("ours")
    with gate.passing(is_patient=True), gate.passing(is_patient=True):
        pass
