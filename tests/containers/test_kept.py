"""What is kept under a name outlives its container, and is told of, on every engine."""

from datetime import UTC, datetime, timedelta

from django.conf import settings

from containers.engine import INSTANCE_LABEL
from tests.containers.rigs import Rig, deploy


def test_what_is_kept_is_told_with_and_without_a_container(rig: Rig) -> None:
    within = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
    assert rig.name not in rig.engine.kept(within)
    deploy(rig)
    since = rig.engine.kept(within)[rig.name]
    assert abs(datetime.now(UTC) - since) < timedelta(minutes=1)
    rig.engine.remove(rig.name)
    assert rig.name in rig.engine.kept(within)
    rig.engine.remove(rig.name, volumes=True)
    assert rig.name not in rig.engine.kept(within)
