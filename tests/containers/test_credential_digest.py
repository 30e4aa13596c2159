"""The digest by which a volume is recognized: it is another one for other credentials, and reveals none."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from containers.credential_digest import DIGEST_LABEL, digest_credentials
from containers.hardening import container_payload
from containers.vocabulary import ContainerSpec
from tests.containers.docker.scripted_engine import SPEC

pytestmark = pytest.mark.one_database

SECRETS = [
    {}, {"a": ""}, {"a": "x"}, {"a": "y"}, {"b": "x"}, {"a": "x", "b": "y"}, {"a": "y", "b": "x"}, {"a": "xb"},
    {"a": "x", "b": ""}, {"a": 'x", "b": "y'}, {"a": "é"}, {"a": "e\u0301"}, {"a": "x\n"},
]  # fmt: skip
SPECS = [replace(SPEC, secrets=secrets, user=user) for secrets in SECRETS for user in (10001, 10002)]


def test_different_credentials_or_users_have_different_digests() -> None:
    assert [pair for pair in combinations(SPECS, 2) if digest_credentials(pair[0]) == digest_credentials(pair[1])] == []


@pytest.mark.parametrize(
    "changes",
    [{"generation": 7}, {"image": "other"}, {"environment": {"x": "y"}}, {"memory": 1 << 20}, {"labels": {}},
     {"secrets": {"b": "y", "a": "x"}}],
)  # fmt: skip
def test_nothing_else_changes_the_digest(changes: dict[str, Any]) -> None:
    spec = replace(SPEC, secrets={"a": "x", "b": "y"})
    assert digest_credentials(replace(spec, **changes)) == digest_credentials(spec)


def test_another_installation_has_other_digests(settings: Any) -> None:
    """Without the secret key, nobody can check a guess."""
    before = digest_credentials(SPEC)
    settings.SECRET_KEY = "another key of thirty-two letters"
    assert digest_credentials(SPEC) != before


def labels_of(spec: ContainerSpec) -> dict[str, dict[str, str]]:
    mounts = container_payload(spec, network="n", digest="d1")["HostConfig"]["Mounts"]
    return {each["Source"]: each["VolumeOptions"]["Labels"] for each in mounts}


def test_only_the_volume_of_the_credentials_has_the_label() -> None:
    payload = container_payload(SPEC, network="n")
    labels = labels_of(SPEC)
    assert labels[f"{SPEC.name}-secrets"][DIGEST_LABEL] == "d1"
    assert DIGEST_LABEL not in {**labels[f"{SPEC.name}-data"], **payload["Labels"]}
