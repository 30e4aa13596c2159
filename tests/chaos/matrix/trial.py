"""One fault with all verbs: the answers meanwhile, and whether everything is right again soon after it."""

import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import docker

from containers.vocabulary import PROJECT_LABEL
from tests.chaos.consistency import assert_server_consistent
from tests.chaos.database.requests import Answer, Client
from tests.chaos.matrix.faults import FAULTS
from tests.chaos.matrix.installation import Installation
from tests.chaos.matrix.letter import Letter
from tests.chaos.matrix.reader import Reader
from tests.chaos.matrix.verbs import VERBS, Sent, control, find_wrong, insist, make_targets
from tests.waiting import wait_until

HEALS_WITHIN = 60.0
HEADSTARTS = (None, 0.0, 0.05, 0.2, 0.5)
"""Seconds for which the verbs are under way when the fault begins. None: it begins before they are sent."""


@dataclass(frozen=True)
class Outcome:
    fault: str
    headstart: float | None
    statuses: Mapping[str, int]
    slowest: float
    healed_after: float
    wrong: list[str]
    mailed_after: float | None = None
    """Returns the seconds from the end of a mail server's fault until a delayed mail has arrived."""


def take(installation: Installation, client: Client, name: str, chance: random.Random, *, within: float) -> Outcome:
    fault = FAULTS[name]
    headstart = chance.choice(HEADSTARTS)
    targets = make_targets(installation, client)
    running = set(targets.values()) - {targets["start"]}
    # Something that ran only while a busy engine was not observed would look like a lie.
    wait_until(lambda: installation.witness.sees(running), within=HEALS_WITHIN)
    reader = Reader(client)
    letter = Letter(installation, client) if name.startswith("mail/") else None
    answers, ended = _send_during(installation, client, name, targets, headstart, letter)
    if fault.loses_deletions:
        _remove_lost(installation, targets, answers["create"])
    # A request that was frozen is answered when its process continues.
    slower_by = fault.lasts if fault.mutes else 0.0
    wrong = [
        each
        for verb, answer in answers.items()
        for each in find_wrong(verb, answer, mutes=fault.mutes, slower_by=slower_by + within - 30.0)
    ]
    problems: list[str] = []
    wait_until(
        lambda: _is_right(installation, problems), within=max(within, 30.0) * 2, every=0.3,
        what=lambda: f"{name}: {problems[-1:]} {installation.service.log.read_text()[-6000:]}",
    )  # fmt: skip
    healed_after = time.monotonic() - ended
    wrong += installation.agreement.find_wrong(within=max(within, 30.0))
    if healed_after > HEALS_WITHIN + 2 * (within - 30.0):
        wrong.append(f"right again after {healed_after:.1f} s only: {problems[-1]}")
    reader.close()
    mailed_after = _await_mail(letter, ended)
    wrong += reader.find_lies(installation.witness.sightings)
    wrong += _clean_up(installation, client)
    slowest = max(answer.seconds for answer in answers.values())
    statuses = {verb: answers[verb].status for verb in VERBS}
    return Outcome(name, headstart, statuses, slowest, healed_after, wrong, mailed_after)


def _send_during(
    installation: Installation,
    client: Client,
    name: str,
    targets: Mapping[str, str],
    headstart: float | None,
    letter: Letter | None,
) -> tuple[dict[str, Answer], float]:
    """Returns the answers, and when the fault was over."""
    fault = FAULTS[name]
    early = None
    if headstart is not None:
        early = Sent(installation, client, targets)
        time.sleep(headstart)
    with fault.breaking(installation):
        began = time.monotonic()
        sent = early or Sent(installation, client, targets)
        if letter is not None:
            letter.crash()
        if not fault.mutes:
            answers = sent.answers()
        time.sleep(max(0.0, fault.lasts - (time.monotonic() - began)))
    ended = time.monotonic()
    return sent.answers() if fault.mutes else answers, ended


def _remove_lost(installation: Installation, targets: Mapping[str, str], created: Answer) -> None:
    """Removes by hand, as staff do, what the engine has again: the deleted project, and what a refused creation made
    before the engine was another one, on which it was undone."""
    instance = installation.instance
    kept = {*targets.values()} - {targets["delete"]}
    if created.status == 201:
        kept.add(created.json["id"])
    for project in {*instance.projects(), *instance.volume_projects()} - kept:
        of_it = {"label": f"{PROJECT_LABEL}={project}"}
        with suppress(docker.errors.NotFound):  # the service was quicker
            for container in instance.client.containers(all=True, filters=of_it):
                instance.client.remove_container(container["Id"], force=True, v=True)
            for volume in instance.client.volumes(filters=of_it)["Volumes"] or ():
                instance.client.remove_volume(volume["Name"], force=True)


def _await_mail(letter: Letter | None, ended: float) -> float | None:
    if letter is None:
        return None
    letter.wait_for_mail()
    mailed_after = time.monotonic() - ended
    letter.close()
    return mailed_after


def _is_right(installation: Installation, problems: list[str]) -> bool:
    """Whether rows, engine and API agree, no operation is held, and the service reports that it is well."""
    try:
        assert installation.service.is_well(), "/readyz"
        if installation.kind == "gateway":
            installation.gateway_container()
        assert_server_consistent(installation.service, installation.instance)
        assert not (detached := installation.instance.detached()), f"on no network: {detached}"
    except Exception as error:  # noqa: BLE001 - whatever is not there yet: it is shown where it stays
        problems.append(f"{error!r:.6000}")  # of eight projects: rows, statuses, containers and volumes
        return False
    return True


def _clean_up(installation: Installation, client: Client) -> list[str]:
    """Checks that every command works: each project is started, and deleted with everything that it had."""
    wrong = []
    until = time.monotonic() + HEALS_WITHIN
    listed = insist(partial(client.send, "GET", "/api/projects"), until)
    if listed.status != 200:
        wrong.append(f"list afterwards: {listed.status} {listed.text}")
    for project in listed.json if listed.status == 200 else ():
        started = insist(partial(control, client, project["id"], "start"), until)
        if started.status not in {200, 202}:
            wrong.append(f"start afterwards: {started.status} {started.text}")
        gone = client.send("DELETE", f"/api/projects/{project['id']}")
        if gone.status not in {202, 204}:
            wrong.append(f"delete afterwards: {gone.status} {gone.text}")
    left: list[object] = []

    def is_empty() -> bool:
        answer = client.send("GET", "/api/projects")
        rows = answer.json if answer.status == 200 else answer.text
        left[:] = [rows, installation.instance.containers(), installation.instance.volumes()]
        return not any(left)

    wait_until(is_empty, within=120, what=lambda: f"Left behind: {left}", every=0.3)
    return wrong
