"""`tests.try_out` uses none of the user's own settings."""

import subprocess
from pathlib import Path
from shutil import copytree

import pytest

from tests import try_out
from tests.e2e import service
from tests.paths import ROOT


def test_try_out_does_not_read_the_installation_s_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make run` reads them, in a checkout that has some."""
    mine = tmp_path / "mine"
    copytree(ROOT / "config/bin", mine / "config/bin")
    (mine / "var").mkdir()
    (mine / "var/berth.env").write_text("BERTH_GATEWAY=mine\n")
    (mine / ".gitignore").write_text((ROOT / ".gitignore").read_text())
    subprocess.run(["git", "init", "--quiet", mine], check=True)
    monkeypatch.setattr(service, "ROOT", mine)
    read = "source config/bin/common.sh; export_own_settings; echo ${BERTH_GATEWAY-none}"
    for checkout, told in ((mine, "mine"), (try_out.make_checkout(tmp_path / "copy"), "none")):
        said = subprocess.run(
            ["bash", "-c", read],
            cwd=checkout,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout.strip() == told, said.stderr
    assert (tmp_path / "copy/.venv/bin/python").exists()
