"""Jobs' containers that keep a volume in use are removed, and no others. Lists are narrowed down by labels, too."""

import json
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.identity import helper_labels, own_labels
from containers.swarm.tasks.job_containers import COPIES, MEASURES, remove_job_containers
from tests.containers.swarm.manager import Manager
from tests.fakes.messages import Answer, Request

VOLUME = "t-agent-data"


class Node(Manager):
    """Has these containers, by id, each with its labels. All of them mount the volume. It may refuse to remove any."""

    def __init__(self, labels: dict[str, dict[str, str]]) -> None:
        super().__init__()
        self.labels = labels
        self.refusal: Answer | None = None
        self.asked: list[dict[str, Any]] = []

    def answer(self, request: Request) -> Answer:
        room, _, name = request.path.split("/", 2)[-1].partition("/")
        if room != "containers":
            return super().answer(request)
        if request.method == "DELETE":
            assert (request.query["force"], request.query["v"]) == ("True", "True")
            if self.refusal is None:
                del self.labels[name]
            return self.refusal or Answer(204, b"")
        chosen = json.loads(request.query["filters"])
        self.asked.append(chosen)
        wanted = {tuple(each.split("=")) for each in chosen["label"]}
        rows = [{"Id": key, "Labels": labels} for key, labels in self.labels.items() if wanted <= set(labels.items())]
        return Answer.json(200, rows)


@override_settings(BERTH_INSTANCE="berth")
def test_only_containers_of_our_jobs_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = {COPIES: "berth", "berth.installation": "another"}
    kept = {"agent": own_labels(), "others": {COPIES: "other"}, "foreign": foreign, "stranger": {"x": "y"}}
    with Node({**kept, "copies": helper_labels(COPIES), "measures": helper_labels(MEASURES)}) as node:
        monkeypatch.setenv("DOCKER_HOST", node.url.replace("http", "tcp"))
        remove_job_containers(Connection(), VOLUME)
        assert node.labels == kept
        assert node.asked == [{"label": [f"{kind}=berth"], "volume": [VOLUME]} for kind in (COPIES, MEASURES)]


@override_settings(BERTH_INSTANCE="berth")
@pytest.mark.parametrize("status", [404, 409])
def test_one_that_is_gone_or_just_being_removed_is_no_error(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    with Node({"copies": helper_labels(COPIES)}) as node:
        node.refusal = Answer.json(status, {"message": "removal of container copies is already in progress"})
        monkeypatch.setenv("DOCKER_HOST", node.url.replace("http", "tcp"))
        remove_job_containers(Connection(), VOLUME)
        assert len(node.asked) == 2
