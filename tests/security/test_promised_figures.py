"""The figures in the security documents are the program's: each sentence is built from its constants."""

import re

import pytest
from django.conf import settings

from accounts.models.outgoing_mail import TRIED_FOR
from accounts.services import api_keys, code_alarm, still_signed_in
from accounts.throttling import login_attempts
from config import settings as real_settings
from config.logs import refusals
from config.serving.worker import clients, connections, framing
from containers import volume_sizes
from containers.docker.gateway import egress
from containers.docker_api import api_version
from containers.docker_api import client as engine_client
from containers.docker_api import logs as engine_logs
from containers.firewall import connection_limits, query_limits
from containers.hardening import confinement, limits
from projects.dashboard import downloads
from projects.rules.disk import BYTES_PER_FILE, WARN_AT
from projects.services import bulkheads as places
from projects.services import operations
from projects.watcher import protection
from projects.watcher.upkeep import disk, retention
from tests.containers.engine_fixtures import make_spec
from tests.containers.memory_under_test import MemoryUnderTest
from tests.paths import ROOT
from tests.settings import REAL_LIMITS

pytestmark = pytest.mark.one_database

DOCUMENTS = ("SECURITY.md", "docs/hardening.md", "docs/socket-proxy.md")
WORDS = {2: "two", 3: "three", 5: "five", 10: "Ten"}
TEXT = re.sub(r"\s+", " ", "".join((ROOT / name).read_text() for name in DOCUMENTS))
MINUTE, HOUR, KIB = 60, 3600, 1024

SENTENCES = [
    (
        f"An agent holds {connection_limits.CONNECTIONS} connections at most, "
        f"begins {connection_limits.CONNECTIONS_RATE.removesuffix('/sec')} a second "
        f"and asks name servers {connection_limits.QUERIES_RATE.removesuffix('/sec')} times a second"
    ),
    (
        f"Of its packets to that server {query_limits.QUESTIONS_RATE.removesuffix('/sec')} a second arrive "
        f"({query_limits.QUESTIONS_BURST} in a burst, "
        f"and {query_limits.STREAM_RATE.removesuffix('kb/s')} KiB a second over TCP)"
    ),
    f"lets it ask, {query_limits.QUESTIONS_RATE.removesuffix('/sec')} times a second",
    f"measured every {disk.EVERY / MINUTE:.0f} minutes",
    f"one for each {BYTES_PER_FILE // KIB} KB of its plan's space. At {WARN_AT:.0%}".replace("80%", "80 %"),
    f"cannot be counted in {volume_sizes._COUNT_FOR} seconds is counted in part",
    f"for {settings.EMAIL_TIMEOUT} seconds each time and for {WORDS[TRIED_FOR.days]} days in all",
    f"one that takes longer than {operations.ANSWER_WITHIN:.0f} seconds, is answered 202",
    f"Reads need no place: their questions to the engine have {WORDS[int(engine_client.READ_DEADLINE)]} seconds",
    f"An export has {downloads.WITHIN / MINUTE:.0f} minutes",
    f"makes no room for more in {connections.ROOM_WITHIN:.0f} seconds",
    f"a page that took {WORDS[int(still_signed_in.ASK_AGAIN_AFTER)]} seconds or more to create, is withheld",
    (
        f"Heads have {clients.HEAD_WITHIN:.0f} seconds and {framing.HEAD_LIMIT // KIB} KiB, "
        f"bodies {clients.BODY_WITHIN:.0f} seconds and {settings.DATA_UPLOAD_MAX_MEMORY_SIZE // KIB} KiB on every path"
    ),
    f"Of more than {clients.CONNECTIONS:,} connections per worker, the oldest",
    (
        f"{WORDS[login_attempts.LIMIT]} wrong codes of a second factor close it for "
        f"{login_attempts.WINDOW.seconds // MINUTE} minutes"
    ),
    f"The owner gets a mail, {WORDS[code_alarm.MAILS_A_DAY]} times a day at most",
    f"A signed-in user reads {REAL_LIMITS['reads']} a minute of both together",
    f"forms are the {REAL_LIMITS['commands']} commands or {REAL_LIMITS['deploys']} deploys",
    (
        f"Every {protection.FIREWALL_EVERY:.0f} seconds (every {egress.THROUGH_ENGINE_EVERY:.0f} through the engine) "
        "they are checked, and set again where they do not hold"
    ),
    f"the old one goes on for at most {api_keys.ROTATION_GRACE.total_seconds() / HOUR:.0f} hours",
    f"Each with `/v{api_version.OLDEST_API}` or a later version in front",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_promised_figure_matches_the_program(sentence: str) -> None:
    assert sentence in TEXT


@pytest.mark.hurried
def test_a_followed_log_ends_within_five_seconds_of_its_token() -> None:
    """The token is checked with a line or, if there is none, after a silence.
    A second is left to open the log again."""
    assert "within five seconds for a followed log" in TEXT
    assert still_signed_in.ASK_AGAIN_AFTER + engine_logs.SILENCE <= 4


def test_expired_sessions_are_deleted_within_two_hours() -> None:
    assert "Expired sessions are deleted within two hours" in TEXT
    assert retention.EVERY <= HOUR


def test_followers_get_a_quarter_of_the_threads_per_user_and_half_in_total() -> None:
    assert "In each process a user has a quarter of the threads for commands, all users have half" in TEXT
    threads = settings.BERTH_THREADS
    assert (places.COMMANDS._each, places.COMMANDS._total) == (threads // 4, threads // 2)
    assert places.COMMANDS._reserve >= 1
    assert real_settings.BERTH_STREAMS >= 4


def test_the_log_has_one_line_of_each_kind_of_refusal_a_minute() -> None:
    assert "one line of each kind a minute from each process" in TEXT
    assert refusals.EVERY == MINUTE


def test_the_firewall_is_checked_every_few_seconds_and_probed_every_few_minutes() -> None:
    assert "Every few seconds, or every minute if the rules are set through the engine, Berth follows" in TEXT
    assert "Every few minutes a container sends test packets" in TEXT
    assert protection.FIREWALL_EVERY <= 5
    assert protection.PROBE_EVERY <= 5 * MINUTE
    assert egress.THROUGH_ENGINE_EVERY <= MINUTE


def test_temporary_file_systems_have_the_promised_sizes() -> None:
    mounts, bounds = confinement(10_001)["Tmpfs"], limits(make_spec(MemoryUnderTest()))
    tmp, run = (re.findall(r"size=(\d+)m", mounts[path])[0] for path in ("/tmp", "/run/agent"))
    log, shared = bounds["LogConfig"]["Config"], bounds["ShmSize"] >> 20
    files = f"{WORDS[int(log['max-file'])]} files of {log['max-size'].removesuffix('m')} MB"
    assert f"`/tmp` holds {tmp} MB and `/run/agent` {run} MB of its plan's memory" in TEXT
    assert f"`/dev/shm` {shared} MB, and the log {files}" in TEXT
