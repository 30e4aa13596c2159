"""The releases whose servers may run while this version migrates."""

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT

APPS = ("accounts", "projects")
"""Those of ours that have tables."""


@dataclass(frozen=True, slots=True)
class Release:
    version: str
    commit: str
    migrations: tuple[tuple[str, str], ...]
    """The last of each app."""

    @property
    def is_here(self) -> bool:
        """Whether its code can be had. A shallow checkout has no history."""
        asked = ["git", "cat-file", "-e", f"{self.commit}^{{commit}}"]
        return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0

    def unpack(self, folder: Path) -> None:
        """Puts its files into the folder."""
        with subprocess.Popen(["git", "archive", self.commit], cwd=ROOT, stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
        assert archive.returncode == 0


def read_releases() -> list[Release]:
    """Newest first."""
    found = tomllib.loads((ROOT / "tests/upgrade/releases.toml").read_text())["release"]
    return [
        Release(each["version"], each["commit"], tuple((app, each["migrations"][app]) for app in APPS))
        for each in found
    ]


RELEASES = read_releases()
LAST = RELEASES[0]
