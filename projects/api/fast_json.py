"""Renders the most frequent responses as JSON without a serializer, which would take many times as long.

The serializers describe the same shapes for the OpenAPI document; a test compares both byte by byte.
"""

import json
from collections.abc import Collection, Iterable
from typing import Any

import orjson

from projects.models import Project
from projects.models.rows.project import ProjectRow
from projects.models.rows.snapshot import Snapshot
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts

_UNSAFE_IN_SCRIPTS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
"""Line breaks in JavaScript but not in JSON. The REST framework escapes them too."""


def render_list(projects: Iterable[tuple[ProjectRow | Project, Facts]]) -> bytes:
    """Renders the list like `ProjectSerializer`."""
    return _dump(
        [
            {
                "id": project.id,
                "name": project.name,
                "status": derive_status(facts),
                "plan": project.plan_id,
                "created_at": project.created_at,
            }
            for project, facts in projects
        ]
    )


def render_with(snapshots: Iterable[Snapshot], include: Collection[str]) -> bytes:
    """Renders the list like `ListedProjectSerializer`: the five fields, and others if `include` names them."""
    return _dump([_row_with(snapshot, include) for snapshot in snapshots])


def _row_with(snapshot: Snapshot, include: Collection[str]) -> dict[str, Any]:
    project = snapshot.project
    row = {
        "id": project.id,
        "name": project.name,
        "status": snapshot.status,
        "plan": project.plan_id,
        "created_at": project.created_at,
    }
    if "status_reason" in include:
        row["status_reason"] = snapshot.reason
    if "bot" in include:
        row["bot"] = project.bot
    return row


def render_detail(snapshot: Snapshot) -> bytes:
    """Renders a project like `ProjectDetailSerializer`."""
    project = snapshot.project
    return _dump(
        {
            "id": project.id,
            "name": project.name,
            "status": snapshot.status,
            "plan": project.plan_id,
            "created_at": project.created_at,
            "type": project.agent_type_id,
            # It may have integers of any size, which orjson cannot write.
            "settings": orjson.Fragment(json.dumps(project.settings, ensure_ascii=False, separators=(",", ":"))),
            "bot": project.bot,
            "provider": project.provider,
            "telegram_token_hint": project.telegram_token_hint,
            "api_key_hint": project.api_key_hint,
            "status_reason": snapshot.reason,
            "status_checked_at": snapshot.checked_at,
            "last_known_status": snapshot.last_known_status,
            "restarts": project.restart_count,
            "started_at": project.started_at,
            "image": project.image_facts,
            "disk": project.disk,
            "usage": snapshot.usage,
            "egress": project.egress,
            "models": project.model_names,
            "updated_at": project.updated_at,
        }
    )


def _dump(value: Any) -> bytes:
    body = orjson.dumps(value, option=orjson.OPT_UTC_Z)
    for raw, escaped in _UNSAFE_IN_SCRIPTS:
        body = body.replace(raw, escaped)
    return body
