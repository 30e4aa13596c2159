"""The README is for strangers: short, with requests that work as they are typed."""

import json
import re

import pytest

from accounts.api.serializers import LoginSerializer
from projects.api.serializers.control import ControlSerializer
from projects.api.serializers.project_requests import NewProjectSerializer
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

README = (ROOT / "README.md").read_bytes()
MOST = 10_000
"""Bytes. Everything else has a page in docs/."""


def test_the_readme_is_short() -> None:
    assert len(README) < MOST


def test_the_bodies_of_its_requests_have_fields_that_exist() -> None:
    login, creation, command = map(json.loads, re.findall(r"-d '(\{.*?\})'", README.decode()))
    assert login.keys() == LoginSerializer().fields.keys() - {"code"}
    assert creation.keys() <= NewProjectSerializer().fields.keys()
    assert ControlSerializer(data=command).is_valid()
