"""A pytest plugin that imports all tests and runs none, so that their compiled files are kept.

python -m pytest -p tests.compiling
"""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem() -> list[pytest.Item]:
    return []
