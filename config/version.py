"""Which Berth this is. The one place of the number is `pyproject.toml`."""

import tomllib
from pathlib import Path


def read_version() -> str:
    """Returns the version as it is written there, such as `0.3.0`."""
    with (Path(__file__).resolve().parent.parent / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])
