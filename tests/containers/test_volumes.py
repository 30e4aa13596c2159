"""Volumes outlive their container and are listed until they are removed, on every engine."""

from datetime import UTC, datetime, timedelta

from django.test import override_settings

from containers.identity import is_labelled
from containers.vocabulary import PROJECT_LABEL
from tests.containers.engine_fixtures import EngineUnderTest, deploy, make_spec


def test_volumes_are_listed_with_and_without_a_container(under_test: EngineUnderTest) -> None:
    within = {PROJECT_LABEL: under_test.key}
    assert under_test.engine.list_volumes(within) == []
    deploy(under_test)
    state = next(each for each in under_test.engine.list_volumes(within) if each.name == f"{under_test.name}-data")
    assert (state.key, is_labelled(state.labels)) == (under_test.key, True)
    assert state.created_at
    assert abs(datetime.now(UTC) - state.created_at) < timedelta(minutes=1)
    under_test.engine.remove(under_test.key)
    assert len(under_test.engine.list_volumes(within)) == 2
    under_test.engine.remove(under_test.key, volumes=True)
    assert under_test.engine.list_volumes(within) == []


def test_volumes_of_other_installations_are_not_listed(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    with override_settings(BERTH_INSTALLATION_SOURCE="tests.installations.theirs"):
        assert under_test.engine.list_volumes({PROJECT_LABEL: under_test.key}) == []


def test_a_deploy_reports_whether_it_created_the_state(under_test: EngineUnderTest) -> None:
    def makes(generation: int) -> bool:
        made: list[bool] = []
        spec = make_spec(under_test, generation=generation)
        under_test.engine.deploy(spec, confirm=lambda: True, on_missing_state=lambda: made.append(True))
        return bool(made)

    assert makes(1)
    assert not makes(2)
    under_test.engine.remove(under_test.key)
    assert not makes(3)
    under_test.engine.remove(under_test.key, volumes=True)
    assert makes(4)
