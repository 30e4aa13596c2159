"""Runs a command on many projects, one after the other, within the time of one request."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from accounts.dashboard.session.still_signed_in import is_still_in
from accounts.http import SignedInRequest
from accounts.services import still_signed_in
from projects.dashboard.own_projects import actor, own_projects
from projects.dashboard.refusals import REFUSALS
from projects.models import Actor, Project
from projects.rules.status.lifecycle import Action
from projects.services.commands.bulk import DELETE, act_on_each, carry_out_and_describe

LABELS = {**{action.value: action.label for action in Action}, DELETE: "Delete"}

BATCH_SECONDS = 3.0
"""Seconds within which a request begins the next project. The last one may take as long as any single command."""

GONE = "It is gone."
LATER = "You have given as many commands as are allowed in a minute."


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A command on many projects. `action` is a key of `LABELS`."""

    action: str
    ids: Sequence[UUID]

    @property
    def label(self) -> str:
        return LABELS[self.action]

    @property
    def deletes(self) -> bool:
        return self.action == DELETE


class Result(NamedTuple):
    """The result for one project. `level` is the CSS class of the message: success, warning or error."""

    project_id: UUID
    name: str
    sentence: str
    level: str
    is_gone: bool = False


def act_on_many(request: SignedInRequest, batch: Batch) -> dict[str, Any]:
    """Returns the results and the rest. `wait` is the number of seconds until the next request may continue.

    Begins no project once the session has ended, to which the middleware then responds.
    """
    by, ask_again_at = actor(request), time.monotonic() + still_signed_in.ASK_AGAIN_AFTER
    bulk = act_on_each(
        batch.ids,
        lambda project_id: _act_on(own_projects(request).filter(pk=project_id).first(), project_id, batch, by),
        user=request.user,
        meta=request.META,
        begin_within=BATCH_SECONDS,
        is_let_in=lambda: time.monotonic() < ask_again_at or is_still_in(request, request.user),
    )
    later = LATER if bulk.wait else ""
    return {"batch": batch, "results": bulk.results, "rest": bulk.left, "wait": bulk.wait, "later": later}


def _act_on(project: Project | None, project_id: UUID, batch: Batch, by: Actor) -> Result:
    if project is None:
        return Result(project_id, "", GONE, "success" if batch.deletes else "warning", is_gone=True)
    try:
        report = carry_out_and_describe(project, batch.action, by)
    except REFUSALS as error:
        return Result(project_id, project.name, str(error), "error")
    level = "warning" if report.is_remark else "success"
    return Result(project_id, project.name, report.sentence, level, is_gone=report.is_gone)
