"""The contract of `limit_names`: it can be repeated, and ids of foreign or stopped containers do no harm."""

import pytest

from tests.containers.engine_fixtures import EngineUnderTest, deploy


@pytest.mark.one_database
def test_missing_stopped_and_foreign_containers_are_no_error(under_test: EngineUnderTest) -> None:
    engine = under_test.engine
    running = deploy(under_test).container_id
    foreign = under_test.foreign(f"{under_test.name}-other", {})
    everybody = [running, foreign, "0" * 64, "nothing"]
    answer = engine.limit_names(everybody)
    assert engine.limit_names(everybody) == answer
    engine.stop(under_test.key, timeout=0)
    assert engine.limit_names([running]) is None
    engine.remove(under_test.key, volumes=True)
    assert engine.limit_names([running]) is None
    assert engine.limit_names([]) is None
