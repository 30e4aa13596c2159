"""One command runs the web server and the watcher, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.config.metrics.reading import Scrape
from tests.config.serving.served import PATIENCE, WORKERS, Served, children_of
from tests.paths import ROOT
from tests.ports import reserve_port
from tests.sampling import Some
from tests.waiting import wait_until


def test_a_signal_ends_everything(served: Served) -> None:
    end_by(signal.SIGTERM, served)


def end_by(number: signal.Signals, served: Served) -> None:
    served.wait_until_up()
    family = served.family()
    assert len(family) >= 4  # the web server, two workers, the watcher
    served.process.send_signal(number)
    assert served.process.wait(PATIENCE) == 0
    served.wait_until_gone(family)


@pytest.mark.rare(2)
def test_nothing_outlives_a_killed_command(served: Served) -> None:
    served.wait_until_up()
    family = served.family()
    served.process.kill()
    served.process.wait(PATIENCE)
    served.wait_until_gone(family)


@pytest.mark.rare(2)
def test_a_dead_web_server_ends_the_command_with_its_exit_code(served: Served) -> None:
    served.wait_until_up()
    family = served.family()
    os.kill(served.web, signal.SIGKILL)
    assert served.process.wait(PATIENCE) == 128 + signal.SIGKILL
    served.wait_until_gone(family)


def test_the_log_names_each_process(shared: Served) -> None:
    """The processes look alike from outside: the watcher has children of its own while it sets firewall rules."""
    shared.wait_until_up()
    listening = re.findall(rf"Listening at: http://127.0.0.1:{shared.port} \((\d+)\)", shared.log.read_text())
    assert shared.processes("web server") == [int(pid) for pid in listening]
    assert shared.processes("watcher") == [shared.watcher]
    assert {shared.web, shared.watcher} <= children_of(shared.process.pid)


def test_no_child_inherits_descriptors_of_the_first_process(shared: Served) -> None:
    """With one of these open, another server would find the port or the place taken."""
    shared.wait_until_up()
    first, web, watcher = (open_in(pid) for pid in (shared.process.pid, shared.web, shared.watcher))
    lock = str(pid_file_of(shared))
    assert (lock in first, lock in web, lock in watcher) == (True, False, False)
    sockets = {each for each in first if each.startswith("socket:")}
    assert sockets & web  # the one on which it listens
    assert not sockets & watcher


def open_in(pid: int) -> set[str]:
    """Returns the open files of the process, by the kernel's names."""
    found: set[str] = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it has been closed meanwhile
            found.add(str(each.readlink()))
    return found


def pid_file_of(served: Served) -> Path:
    return Path(served.environment["BERTH_DATA_DIR"]).resolve() / f"serve-{served.port}.pid"


def test_a_port_in_use_is_reported_in_one_sentence(shared: Served, some: Some) -> None:
    shared.wait_until_up()
    commands = [["serve"], ["prepare"], ["serve", "--prepare"], ["build_images", "--before-serving"]]
    for command in some(commands, one_in=2):
        result = shared.command(*command)
        assert result.returncode == 1
        assert len(result.stderr.splitlines()) == 1
        assert f"cannot listen on 127.0.0.1:{shared.port}" in result.stderr


def test_a_dead_watcher_is_started_again(shared: Served) -> None:
    shared.wait_until_up()
    first = shared.watcher
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: shared.watcher != first, within=PATIENCE, what=shared.log.read_text)
    assert shared.is_up()


def test_a_killed_worker_loses_no_count(shared: Served) -> None:
    """No matter which process is asked, it reports the counts of all."""
    shared.wait_until_up()
    ask = partial(read_counts, shared.port)
    log = shared.log.read_text
    wait_until(lambda: ask("process_starts_total", process="web") >= WORKERS, within=PATIENCE, what=log)
    starts, asked = ask("process_starts_total"), ask("http_request_duration_seconds_count", route="healthz")
    workers = children_of(shared.web)
    for _ in range(6):
        assert shared.is_up()
    assert ask("http_request_duration_seconds_count", route="healthz") >= asked + 6
    os.kill(min(workers), signal.SIGKILL)
    wait_until(lambda: ask("process_starts_total") > starts, within=PATIENCE, what=log)
    assert ask("http_request_duration_seconds_count", route="healthz") >= asked + 6


def read_counts(port: int, name: str, **labels: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        return Scrape(answer.read().decode()).value(f"berth_{name}", **labels) or 0


@pytest.mark.docker
def test_the_welcome_says_where_to_look_and_how_to_sign_in(shared: Served) -> None:
    shared.wait_for_line("Berth is ready")
    welcome = shared.log.read_text()
    assert f"http://127.0.0.1:{shared.port}" in welcome
    assert "admin@berth.localhost" in welcome
    assert "/sign-in" in welcome
    assert "/api/auth/login" in welcome


def test_an_interrupt_ends_everything_too(shared: Served) -> None:
    """The last test with this server, whose watcher another one has replaced."""
    end_by(signal.SIGINT, shared)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", [["prepare"], ["serve", "--prepare"]], ids=" ".join)
def test_a_silent_database_is_reported_in_one_sentence(tmp_path: Path, command: list[str]) -> None:
    nobody = reserve_port()
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "BERTH_DATA_DIR": str(tmp_path),
        "BERTH_PORT": str(reserve_port()),
        "DATABASE_URL": f"postgresql://berth@127.0.0.1:{nobody}/berth",
    }
    ended = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "The database does not answer." in ended.stderr
    assert "Check DATABASE_URL" in ended.stderr
