"""A line that an agent prints, no matter which, is shown or left out, and breaks no page and no record of a crash."""

from typing import Any

import pytest

from projects.models import Project
from projects.services.gateway.provisioning import ensure_gateway
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.security.populated_service import PopulatedService
from tests.security.test_agent_text import AFTER_ITS_END, WHILE_IT_RUNS, WORD

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

LONG = 8000
STATUS = "AGENT-STATUS "
LINES: dict[str, str] = {
    "a number of HTML": f"&#{'9' * LONG};",
    "a number of HTML with zeros": f"&#{'0' * LONG}65;",
    "a number of HTML in base 16": f"&#x{'f' * LONG};",
    "a number of HTML in a URL": f"%26%23{'9' * LONG}%3b",
    "character codes": "12," * (LONG // 3),
    "an escape without an end": f"\\u{{{'1' * LONG}}} \\U99999999 \\x{{110000}}",
    "backslashes": "\\" * LONG,
    "percent signs": "%25" * (LONG // 3),
    "the start of control sequences": "\x1b[" * (LONG // 2),
    "combining characters": "a" + "\u0300" * LONG,
    "ligatures that become long": "\ufdfa" * LONG,
    "a megabyte": "a" * 1_000_000,
    "brackets": "[" * 4000,
    "objects": '{"a":' * 800,
    "a long number in JSON": f'{{"message":"m","n":{"9" * 4050}}}',
    "a large number in JSON": '{"message":"m","n":1e999,"seconds":-1e308,"tokens":1e999,"ms":NaN}',
    "counts of another kind": '{"message":["m"],"level":{"a":[1]},"tokens":true,"seconds":"x","ms":[]}',
    "a name that occurs often": "{" + '"message":"m",' * 200 + '"message":null}',
    "a moment that is none": "2026-99-99T99:99:99.999999999+99:99 words",
    "a report of a long number": STATUS + f'{{"v":{"9" * 4050},"state":"failed"}}',
    "a report of brackets": STATUS + '{"v":1,"state":' + "[" * 1000,
    "a report of other kinds": STATUS + '{"v":1,"state":"failed","code":["a"],"detail":{},"paired":-1}',
    "a report of large numbers": STATUS + '{"v":1,"state":"degraded","paired":1e999,"detail":"d"}',
    "a report that is no object": STATUS + '"v"',
    "nothing": "",
}  # fmt: skip


@pytest.fixture
def service(engine: MemoryEngine, settings: Any) -> PopulatedService:
    settings.BERTH_GATEWAY = True
    service = PopulatedService.make(engine)
    ensure_gateway()
    return service


def say(service: PopulatedService, line: str) -> None:
    for each in (WORD, line, WORD):
        service.engine.log(service.project.container_name, each)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("line", LINES)
def test_the_lines_around_a_hostile_one_are_shown_while_the_agent_runs_and_after_its_end(
    service: PopulatedService, line: str
) -> None:
    say(service, LINES[line])
    for name, read in WHILE_IT_RUNS.items():
        assert WORD in read(service) or "usage" in name, name
    service.engine.exit(service.project.container_name, 30)
    reconcile()
    assert WORD in Project.objects.get(pk=service.project.pk).log_tail
    for name, read in AFTER_ITS_END.items():
        assert WORD in read(service), name
