"""The version of this Berth. `pyproject.toml` is the only place with the number."""

import tomllib
from pathlib import Path


def read_version() -> str:
    """Returns the version as written there, such as `0.3.0`."""
    with (Path(__file__).resolve().parent.parent / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])
