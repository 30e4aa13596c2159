"""The figures in the README and on the page of the API are the program's: each is built from its constants."""

import re
from typing import Any

import pytest
from django.conf import settings

from accounts.services import api_keys, email_change, invitations
from containers import hardening
from containers.docker_api import client as engine_client
from projects.api import parameters
from projects.api.streams import long_requests
from projects.api.viewsets import bulk_control
from projects.models import event_bounds
from projects.models.catalogue import AgentType
from projects.models.figures import sample
from projects.rules.settings.berth_settings import SETTINGS_BYTES
from projects.rules.status import lifecycle
from projects.services.account import export
from projects.services.images import trial
from projects.services.reports import logs, runs
from projects.services.staff import batches
from tests.containers.engine_fixtures import make_spec
from tests.containers.memory_under_test import MemoryUnderTest
from tests.paths import ROOT
from tests.settings import REAL_LIMITS

pytestmark = pytest.mark.one_database

TEXT = re.sub(r"\s+", " ", "".join((ROOT / name).read_text() for name in ("README.md", "docs/api.md")))
WORDS = {2: "two", 3: "three", 5: "five", 10: "ten"}
KIB, HOUR = 1024, 3600
LOG = hardening.limits(make_spec(MemoryUnderTest()))["LogConfig"]["Config"]
SESSION: Any = settings.SIMPLE_JWT["ACCESS_TOKEN_LIFETIME"]

SENTENCES = [
    f"{REAL_LIMITS['reads']} reads, {REAL_LIMITS['commands']} commands and {REAL_LIMITS['deploys']} deploys a minute",
    f"Every request is answered within {settings.BERTH_GRACE} seconds",
    (
        f"| a request | {settings.BERTH_GRACE} seconds; {settings.DATA_UPLOAD_MAX_MEMORY_SIZE // KIB} KiB of body, "
        f"{SETTINGS_BYTES // KIB} KB of settings |"
    ),
    f"/api/projects?wait={parameters.MAX_WAIT}'",
    f"(`?follow=true`, `?wait=`) of a user | {long_requests.PER_USER} at a time |",
    f"the same for up to {bulk_control.MOST} projects",
    f"| projects in one command | {bulk_control.MOST}; in an action of the admin {batches.MOST} |",
    (
        f"| invitations by staff | {invitations.MOST} at once; by mail {invitations.MAILS_A_DAY} a day for each member "
        f"of the staff, and {WORDS[invitations.MAILS_PER_ACCOUNT]} to one address |"
    ),
    f"| API keys of a user | {api_keys.LIMIT} |",
    f"| exports of one's data, and links for a new email | {export.MOST} an hour |",
    f"{WORDS[int(LOG['max-file'])]} files of {LOG['max-size'].removesuffix('m')} MB for each run",
    f"of which an answer has {logs.MAX_BYTES // KIB // KIB} MB",
    f"longer than {WORDS[int(engine_client.READ_DEADLINE)]} seconds; the last {WORDS[runs.KEPT_RUNS]} runs |",
    f"the last {WORDS[runs.KEPT_RUNS]} runs",
    f"and the last {event_bounds.MOST_OF_A_PROJECT:,} of each project",
    f"| events | {settings.BERTH_EVENTS_DAYS} days (`BERTH_EVENTS_DAYS`)",
    f"network for up to {max(sample.KEPT_FOR.values()).days} days",
    f"cannot be copied in {trial.COPY_WITHIN:.0f} seconds",
    f"({AgentType._meta.get_field('ready_timeout').default} seconds by default)",
    f"or {WORDS[lifecycle.CRASH_LIMIT]} times in {WORDS[int(lifecycle.CRASH_WINDOW.total_seconds() // 60)]} minutes",
    f"valid for {SESSION.total_seconds() / HOUR:.0f} hours",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_figure_matches_the_program(sentence: str) -> None:
    assert sentence in TEXT


def test_the_figures_that_two_limits_share_are_the_same() -> None:
    assert (export.MOST, export.HOUR) == (email_change.ASKED_PER_USER, email_change.HOUR) == (5, HOUR)
