"""Another process sets the rules in the same moment."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from containers.firewall import iptables, jumps
from tests.containers.firewall.place import Place, can_filter

OTHER_PROCESS = """#!/bin/sh
given=$(cat)
case "$given" in *"-D "*)
    [ -e {folder}/met ] || echo "$given" | {program} "$@"
    touch {folder}/met
    [ ! -e {folder}/always ] || exit 1
esac
echo "$given" | {program} "$@"
"""
"""Stands for `iptables-restore`, before which another process does the same: the first time, or each time."""


@pytest.mark.docker
@can_filter
def test_two_processes_that_lead_to_the_rules_at_once_do_not_fail(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.lose("for n in 1 2; do $program -w -I {parent} 1 {rule}; done")
    alone, repeated = jumps.restore, set[str]()

    def restore(program: str, given: str) -> None:
        if "-D " in given and program not in repeated:
            repeated.add(program)
            alone(program, given)  # by the other process
        alone(program, given)

    monkeypatch.setattr(jumps, "restore", restore)
    assert iptables.apply_rules() is None
    assert repeated
    assert iptables.rules_hold()


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("is_always", [False, True])
def test_the_script_tries_again_if_another_process_was_quicker(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_always: bool
) -> None:
    for name in ("iptables-restore", "ip6tables-restore"):
        (tmp_path / name).write_text(OTHER_PROCESS.format(folder=tmp_path, program=shutil.which(name)))
        (tmp_path / name).chmod(0o755)
    if is_always:
        (tmp_path / "always").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    place.lose("for n in 1 2; do $program -w -I {parent} 1 {rule}; done; $program -w -I {parent} 1 -j ACCEPT")
    if is_always:
        with pytest.raises(subprocess.CalledProcessError):
            place.router.set_rules()
        return
    place.router.set_rules()
    assert (tmp_path / "met").exists()
    assert iptables.rules_hold()
    assert place.reached() == set()
