"""A deploy uses an observation made a moment ago, and makes no further calls for it unless it is outdated."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.docker.engine import DockerEngine
from containers.errors import EngineUnavailableError, ImageMissingError, SupersededError
from containers.vocabulary import QUARANTINE_LABEL, USER_LABEL, ContainerState, Health, Observation
from tests.containers.docker.scripted_engine import (
    CONFLICT,
    DONE,
    FAILED,
    GONE,
    ID,
    IMAGE,
    LABELS,
    LOST,
    NAME,
    OUR_VOLUME,
    SPEC,
    Answer,
    container,
)
from tests.fakes.docker_socket import FaultySocket

pytestmark = pytest.mark.one_database

FORMER = "d" * 64
NEXT = replace(SPEC, generation=2)
STATE, SECRETS = f"{NAME}-data", f"{NAME}-secrets"
SEEN = Observation(
    name=NAME,
    container_id=FORMER,
    labels={**LABELS, "berth.generation": "1", USER_LABEL: str(SPEC.user)},
    state=ContainerState.EXITED,
    exit_code=0,
    started_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    mounts={"/data": STATE, "/run/secrets": SECRETS},
)
RUNS = replace(SEEN, state=ContainerState.RUNNING, exit_code=None)
RUNS_BY_NOW: Answer = ("answer", 409, b'{"message": "You cannot remove a running container"}')
MADE_NOW: Answer = ("answer", 200, OUR_VOLUME[2].replace(b'"berth.generation": "1"', b'"berth.generation": "2"'))

REPLACED = [
    f"DELETE /containers/{FORMER}",
    f"DELETE /volumes/{SECRETS}",
    "POST /containers/create",
    f"PUT /containers/{ID}/archive",
    f"POST /containers/{ID}/start",
    f"GET /containers/{ID}/json",
]
BESIDE = [f"GET /images/{SPEC.image}/json", f"GET /volumes/{STATE}"]


@pytest.fixture
def engine(daemon: FaultySocket) -> DockerEngine:
    """An engine whose former container is removed, and on which a new one runs."""
    daemon.script |= {
        f"GET /images/{SPEC.image}/json": [IMAGE],
        f"POST /containers/{FORMER}/stop": [DONE],
        f"DELETE /containers/{FORMER}": [DONE],
        f"GET /containers/{ID}/json": [container("running")],
    }
    return DockerEngine()


def deploy(engine: DockerEngine, seen: Observation | None, **given: Any) -> Observation:
    return engine.deploy(NEXT, confirm=lambda: True, seen=seen, **given)


def asked(daemon: FaultySocket) -> list[str]:
    """The calls in order, without those about the rules and the version."""
    short = [
        request.replace(" /v1.41/", " /").partition("?")[0].removesuffix(" HTTP/1.1") for request in daemon.requests
    ]
    return [each for each in short if "networks" not in each and "/version" not in each]


def test_a_known_observation_is_not_requested_again(engine: DockerEngine, daemon: FaultySocket) -> None:
    deploy(engine, SEEN)  # the first one checks the rules
    for seen in (SEEN, RUNS, replace(SEEN, exit_code=143)):
        daemon.requests.clear()
        retired: list[Observation] = []
        assert deploy(engine, seen, retire=retired.append).state is ContainerState.RUNNING
        in_turn = [each for each in asked(daemon) if each not in BESIDE]
        assert in_turn == [*([f"POST /containers/{FORMER}/stop"] if seen.is_up else []), *REPLACED]
        assert retired == [seen]
        assert set(asked(daemon)) >= set(BESIDE)


def test_a_container_that_differs_from_its_observation_is_inspected(engine: DockerEngine, daemon: FaultySocket) -> None:
    """Someone has started it, or is removing it."""
    for fault in (RUNS_BY_NOW, CONFLICT, FAILED, LOST):
        daemon.requests.clear()
        daemon.script[f"DELETE /containers/{FORMER}"] = [fault, DONE]
        assert deploy(engine, SEEN).state is ContainerState.RUNNING
        assert asked(daemon).index("GET /containers/json") > asked(daemon).index(f"DELETE /containers/{FORMER}")
        assert "GET /volumes" in asked(daemon)


def test_a_container_that_is_already_gone_counts_as_removed(engine: DockerEngine, daemon: FaultySocket) -> None:
    daemon.script |= {f"DELETE /containers/{FORMER}": [GONE], f"POST /containers/{FORMER}/stop": [GONE]}
    for seen in (SEEN, RUNS):
        assert deploy(engine, seen).state is ContainerState.RUNNING


def test_a_recreated_state_volume_is_handed_over(engine: DockerEngine, daemon: FaultySocket) -> None:
    """Someone has removed it while no container was using it."""
    daemon.script[f"GET /volumes/{STATE}"] = [MADE_NOW]
    told: list[bool] = []
    began = f"POST /containers/{ID}/start"
    assert (
        deploy(engine, SEEN, on_missing_state=lambda: told.append(began in asked(daemon))).state
        is ContainerState.RUNNING
    )
    assert told == [False]
    assert f"GET /containers/{ID}/archive" in asked(daemon)
    daemon.script[f"GET /volumes/{STATE}"] = [FAILED]
    with pytest.raises(EngineUnavailableError):
        deploy(engine, SEEN)


LOOKED_AT = {
    "as another user": replace(SEEN, labels={**SEEN.labels, USER_LABEL: str(SPEC.user + 1)}),
    "as nobody knows whom": replace(SEEN, labels={**LABELS, "berth.generation": "1"}),
    "failed": replace(SEEN, exit_code=1),
    "crash loop": replace(SEEN, state=ContainerState.RESTARTING, exit_code=1),
    "unhealthy": replace(RUNS, health=Health.UNHEALTHY),
    "never ran": replace(SEEN, started_at=None),
}


def test_the_owner_of_the_state_is_read_if_the_agent_may_not_have_used_it(
    engine: DockerEngine, daemon: FaultySocket
) -> None:
    for how, seen in LOOKED_AT.items():
        daemon.requests.clear()
        assert deploy(engine, seen).state is ContainerState.RUNNING
        assert f"GET /containers/{ID}/archive" in asked(daemon), how
        assert "GET /containers/json" not in asked(daemon), how


DOUBTED = {
    "nothing": None,
    "one of several": replace(SEEN, mounts=None),
    "without a state": replace(SEEN, mounts={"/run/secrets": SECRETS}),
    "other credentials": replace(SEEN, mounts={"/data": STATE, "/run/secrets": "former-secrets"}),
    "created": replace(SEEN, state=ContainerState.CREATED),
    "dead": replace(SEEN, state=ContainerState.DEAD),
    "in quarantine": replace(SEEN, labels={**SEEN.labels, QUARANTINE_LABEL: "2026-11-20"}),
    "another's": replace(SEEN, labels={**SEEN.labels, "berth.owner": "b", "berth.instance": "another"}),
    "of this deploy": replace(SEEN, labels={**SEEN.labels, "berth.generation": "2"}),
}


def test_all_else_is_asked_for(engine: DockerEngine, daemon: FaultySocket) -> None:
    for what, seen in DOUBTED.items():
        daemon.requests.clear()
        assert deploy(engine, seen).state is ContainerState.RUNNING
        assert asked(daemon).index("GET /containers/json") < asked(daemon).index("POST /containers/create"), what
        assert f"DELETE /containers/{FORMER}" not in asked(daemon), what


def test_without_an_image_nothing_is_touched(engine: DockerEngine, daemon: FaultySocket) -> None:
    daemon.script[f"GET /images/{SPEC.image}/json"] = [("answer", 404, b'{"message": "No such image: berth/x"}')]
    for seen in (SEEN, RUNS):
        with pytest.raises(ImageMissingError):
            deploy(engine, seen)
    assert not any(each.startswith(("DELETE", "POST")) for each in asked(daemon))


def test_a_deploy_that_a_stop_overtakes_starts_nothing(engine: DockerEngine, daemon: FaultySocket) -> None:
    daemon.script["GET /containers/json"] = [("answer", 200, b"[]")]
    with pytest.raises(SupersededError):
        engine.deploy(NEXT, confirm=lambda: False, seen=SEEN)
    assert f"POST /containers/{ID}/start" not in asked(daemon)
    assert f"DELETE /volumes/{STATE}" not in asked(daemon)
