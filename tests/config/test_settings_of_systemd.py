"""The scripts take of a file of settings what systemd takes, also of one that only root may read, and name the rest."""

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.config.environment.test_every_variable import VARIABLES
from tests.config.systemd_environment import NotReadError, read_as_systemd
from tests.config.test_own_settings import GOOD, NO_RESTART, OF_THE_SERVICE, OWN, SCRIPTS, WRONG, checkout, run
from tests.paths import ROOT
from tests.sampling import Some

__all__ = ["checkout"]
pytestmark = pytest.mark.one_database

PARTS = [
    *(b"A", b"B", b"_", b"C1", b"a", b"=", b"=", b'"', b'"', b"'", b"'", b"\\", b"\\", b" ", b"\t", b"\n", b"\n"),
    *(b"\r\n", b"\r", b"#", b";", b"$", b"`", b"A=", b"B=", b"\nC1=", "é".encode(), "🦊".encode(), "\ufeff".encode()),
]
RARE = [b"\xe4", "\ufdd0".encode(), b"\x00", b"\xed\xa0\x80"]
READ = r"""
source config/bin/common.sh
for file in "$1"/*; do
    printf '%s\1%s\1' "${file##*/}" "$(tr '\0' '\1' <"$file" | find_unreadable)"
    parse_settings <"$file"
    printf '\2'
done
"""
NOBODY = 65_534
WHERE = "docs/configuration.md lists them."


def test_what_is_accepted_is_read_as_systemd_reads_it(tmp_path: Path, some: Some) -> None:
    chance, files = random.Random(some.seed), {}
    for number in range(500 if some.is_whole else 40):
        parts = chance.choices([*PARTS, *RARE], [9] * len(PARTS) + [1] * len(RARE), k=chance.randint(1, 12))
        files[str(number)] = b"A=" * chance.randint(0, 1) + b"".join(parts)
    files |= {what: text.encode("utf-8", "surrogateescape") for what, text in WRONG.items()} | {"good": GOOD.encode()}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    said = subprocess.run(["bash", "-c", READ, "-", tmp_path], cwd=ROOT, capture_output=True, check=True).stdout
    accepted = 0
    for which, unreadable, parsed in (part.split(b"\1", 2) for part in said.split(b"\2")[:-1]):
        if not unreadable:
            accepted += 1
            found = dict(line.split("=", 1) for line in parsed.decode().split("\n") if line)
            assert found == read_as_systemd(files[which.decode()]), files[which.decode()]
    assert accepted > 2


def test_systemd_ignores_a_file_with_a_byte_that_is_no_text() -> None:
    with pytest.raises(NotReadError):
        read_as_systemd(b"A=1\nB=\xe4\n")


@pytest.fixture
def of_root() -> Iterator[Path]:
    """A checkout in which only root may read the settings, with systemd's copies of them."""
    if os.geteuid() != 0:
        pytest.skip("only root can take the rights of another user")
    made = Path(tempfile.mkdtemp(prefix="berth-settings-", dir="/tmp"))
    made.chmod(0o755)
    shutil.copytree(ROOT / "config/bin", made / "config/bin")
    shutil.copy(ROOT / "config/settings.py", made / "config")
    yield made
    shutil.rmtree(made)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("file", "what"), [*product(SCRIPTS, [*WRONG, "good"])])
def test_a_service_that_may_not_read_its_settings_names_a_wrong_line(of_root: Path, file: str, what: str) -> None:
    text = (GOOD + WRONG.get(what, "BERTH_Z=z") + "\n").encode("utf-8", "surrogateescape")
    copy = of_root / "credentials" / {OWN: "own", OF_THE_SERVICE: "service"}[file]
    for path in (of_root / file, copy):
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
    (of_root / file).chmod(0o600)
    unit = (ROOT / "config/systemd/berth.service").read_text()
    source = {OWN: "@ROOT@/var/berth.env", OF_THE_SERVICE: "@SETTINGS@"}[file]
    assert {f"LoadCredential={copy.name}:{source}", f"SetCredential={copy.name}:#"} <= set(unit.splitlines())
    done = subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "config/bin/check-settings", "true"],
        cwd=of_root, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "DESTDIR": "system", "CREDENTIALS_DIRECTORY": str(copy.parent)},
    )  # fmt: skip
    if what == "good":
        assert done.returncode == 0
        assert f"Line {len(text.splitlines())} of {file} has no effect" in done.stderr
    else:
        assert done.returncode == NO_RESTART
        assert done.stderr.startswith(f"Line {len(GOOD.splitlines()) + 1} of {file} cannot be read. ")
        assert len(done.stderr.splitlines()) == 1
    assert "canary" not in done.stderr


@pytest.mark.parametrize("script", ["run", "upgrade", "install-service", "check-settings"])
@pytest.mark.parametrize("file", SCRIPTS)
def test_a_line_without_effect_is_named(checkout: Path, file: str, script: str) -> None:
    shutil.copy(ROOT / "config/settings.py", checkout / "config")
    lines = "BERTH_PORT=8001\n# A comment\nBERTH_PROT=canary\nBERTH_HOST_FILE=x\nOTEL_X=1\nBERTH_PORT=8002"
    (checkout / file).write_text(lines)
    said = run(checkout, script, *SCRIPTS[OWN][script].split()).stderr.splitlines()
    if file == OWN or script in {"install-service", "check-settings"}:
        assert said[:2] == [
            f"Line 3 of {file} has no effect, because Berth has no setting BERTH_PROT. {WHERE}",
            f"Line 1 of {file} has no effect, because line 6 sets BERTH_PORT again. Remove one of them.",
        ]
    assert "canary" not in "".join(said)


def test_every_setting_is_known() -> None:
    known = re.findall(r'"(BERTH_[A-Z_]+)"', (ROOT / "config/settings.py").read_text())
    assert {name for name in VARIABLES if name.startswith("BERTH_")} == set(known)


@pytest.mark.parametrize("script", sorted(set(SCRIPTS[OWN]) | set(SCRIPTS[OF_THE_SERVICE])))
@pytest.mark.parametrize("file", SCRIPTS)
def test_a_link_to_nothing_is_not_taken_for_no_settings(checkout: Path, file: str, script: str) -> None:
    if script not in SCRIPTS[file]:
        pytest.skip("it reads other settings")
    (checkout / file).symlink_to("/nowhere/settings")
    done = run(checkout, script, *SCRIPTS[file][script].split())
    assert done.returncode == (NO_RESTART if script == "check-settings" else 1), done.stderr
    assert f"{file}" in done.stderr
    assert "cannot be read" in done.stderr
    assert not (checkout / "said").exists()
    assert (checkout / file).is_symlink()
