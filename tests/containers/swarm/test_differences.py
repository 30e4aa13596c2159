"""Each documented difference of a Swarm names a test that exists."""

import re

from tests.containers.swarm.differences import DIFFERENCES, MODULES
from tests.paths import TESTS


def test_each_documented_difference_has_a_test() -> None:
    folder = TESTS / "containers"
    sources = "".join(path.read_text() for path in folder.glob("test_*.py"))
    assert set(DIFFERENCES) <= set(re.findall(r"^def (test_\w+)\(", sources, re.MULTILINE))
    assert all((folder / f"{name.rpartition('.')[2]}.py").exists() for name in MODULES)
