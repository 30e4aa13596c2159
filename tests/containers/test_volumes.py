"""Volumes outlive their container and are listed until they are removed, on every engine."""

from datetime import UTC, datetime, timedelta

from django.conf import settings

from containers.vocabulary import INSTANCE_LABEL
from tests.containers.engine_fixtures import EngineUnderTest, deploy


def test_volumes_are_listed_with_and_without_a_container(under_test: EngineUnderTest) -> None:
    within = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
    assert under_test.name not in under_test.engine.list_volumes(within)
    deploy(under_test)
    since = under_test.engine.list_volumes(within)[under_test.name]
    assert abs(datetime.now(UTC) - since) < timedelta(minutes=1)
    under_test.engine.remove(under_test.name)
    assert under_test.name in under_test.engine.list_volumes(within)
    under_test.engine.remove(under_test.name, volumes=True)
    assert under_test.name not in under_test.engine.list_volumes(within)
