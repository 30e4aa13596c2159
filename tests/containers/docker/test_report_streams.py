"""One thread receives the reports of many containers as they are printed, no matter what else they print."""

from collections.abc import Iterator

import pytest

from containers.docker_api import report_streams
from containers.docker_api.report_streams import ReportStreams
from containers.vocabulary import Health
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.one_database]


@pytest.fixture
def streams(docker_under_test: DockerUnderTest) -> Iterator[ReportStreams]:
    found = docker_under_test.engine.report_streams()
    yield found
    found.close()


def id_of(under_test: DockerUnderTest, key: str) -> str:
    found = under_test.engine.inspect(key)
    assert found is not None
    return found.container_id


def change(under_test: DockerUnderTest) -> None:
    assert under_test.run("touch", "/tmp/now")[0] == 0


def test_each_report_is_read_while_another_agent_floods_its_log(
    docker_under_test: DockerUnderTest, streams: ReportStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_streams, "MOST_AT_ONCE", 64 * 1024)
    key, noisy = docker_under_test.key, f"{docker_under_test.key}-noisy"
    deploy(docker_under_test, mode="changing")
    deploy(docker_under_test, key=noisy, mode="noisy")
    streams.follow({id_of(docker_under_test, key): key, id_of(docker_under_test, noisy): noisy})
    heard: list[str] = []

    def hears() -> bool:
        heard.extend(streams.wait(0.2))
        return key in heard

    for _ in range(3):
        change(docker_under_test)
        wait_until(hears, within=60, every=0)
        assert noisy not in heard
        heard.clear()


def test_reports_from_before_following_are_read_once_the_container_runs_again(
    docker_under_test: DockerUnderTest, streams: ReportStreams
) -> None:
    deploy(docker_under_test)
    key = docker_under_test.key
    container_id = id_of(docker_under_test, key)
    streams.follow({container_id: key})
    assert wait_until(lambda: streams.wait(0.2), within=60, every=0) == {key}
    docker_under_test.engine.stop(key, timeout=5)
    docker_under_test.client.start(container_id)
    assert wait_until(lambda: streams.wait(0.2), within=60, every=0) == {key}


def test_a_removed_container_does_not_block_other_logs(
    docker_under_test: DockerUnderTest, streams: ReportStreams
) -> None:
    deploy(docker_under_test)
    key = docker_under_test.key
    streams.follow({"f" * 64: "gone", id_of(docker_under_test, key): key, "no id": "nonsense"})
    assert wait_until(lambda: streams.wait(0.2), within=60, every=0) == {key}
    streams.follow({})
    streams.wait(0)
    assert not streams._streams


def test_a_report_overrides_the_health_check_before_it(docker_under_test: DockerUnderTest) -> None:
    """The health check continues to report that all is well: only the order in time decides."""
    deploy(docker_under_test, mode="changing", image=docker_under_test.probed_image)
    inspect = docker_under_test.engine.inspect

    def health_is(wanted: Health, state: str) -> bool:
        found = inspect(docker_under_test.key)
        assert found is not None
        return found.health is wanted and found.report is not None and found.report.state == state

    wait_until(lambda: health_is(Health.HEALTHY, "running"), within=60)

    def is_told() -> bool:
        """Repeats the report, because a health check may come in between."""
        change(docker_under_test)
        return health_is(Health.UNHEALTHY, "degraded")

    wait_until(is_told, within=60)
