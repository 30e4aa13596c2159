"""Why an agent of a hostile image is not well, on a real engine."""

import pytest

from tests.projects.hostile_images.conftest import WAITS, Host

pytestmark = [pytest.mark.docker, pytest.mark.one_database]

LOSES_A_CHILD = "#!/bin/sh\ndd if=/dev/zero of=/dev/null bs=200M count=1\nsleep 1\nexit {}\n"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("exit_code", "code"),
    [(0, "exited"), (1, "crash"), (75, "telegram_unreachable"), (137, "out_of_memory"), (247, "out_of_memory")],
)
def test_a_killed_child_explains_only_the_exit_codes_of_a_kill(host: Host, exit_code: int, code: str) -> None:
    """Docker says `OOMKilled` of the container in each of these cases."""
    answer = host.deploy(host.make(agent=LOSES_A_CHILD.format(exit_code)))
    assert answer.status_code == 201, answer.content
    reason = host.await_reason(answer.json()["id"], lambda told: told["oom_killed"])
    assert (reason["code"], reason["exit_code"]) == (code, exit_code)


REPORTS = '#!/bin/sh\necho \'AGENT-STATUS {{"v":1,"state":"{}","code":"{}"}}\'\nexec sleep 1000\n'
CHECK = "HEALTHCHECK --interval=500ms --timeout=5s --retries=1 CMD {}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("agent", "check", "code"),
    [
        (WAITS, CHECK.format("false"), "unhealthy"),
        (WAITS, CHECK.format("no-such-program"), "unhealthy"),
        (WAITS, CHECK.format("echo suspended; exit 1"), "unhealthy"),
        (REPORTS.format("degraded", "suspended"), "", "unexplained"),
        (REPORTS.format("failed", ""), "", "unexplained"),
        (REPORTS.format("degraded", "provider_busy"), "", "provider_busy"),
    ],
    ids=["fails", "no program", "prints", "another's code", "no code", "known code"],
)
def test_trouble_that_the_gateway_has_not_seen_is_not_called_unresponsive(
    host: Host, agent: str, check: str, code: str
) -> None:
    answer = host.deploy(host.make('CMD ["/agent"]', *filter(None, [check]), agent=agent))
    assert answer.status_code == 201, answer.content
    assert host.await_reason(answer.json()["id"], lambda _: True)["code"] == code
