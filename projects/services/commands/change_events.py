"""The events for a change to a project. They have names of fields but no values."""

from typing import Any

from projects.credentials.verification import CredentialCheck
from projects.models import Actor, Event, Project
from projects.models.columns.credentials import API_KEY, TELEGRAM_TOKEN
from projects.models.event import DETAIL_LENGTH
from projects.rules.budget import LIMITS
from projects.rules.settings.merge_patch import find_changed_names

COMPARED = {
    **{name: name for name in ("name", "plan", "provider", "bot_id", "bot_username")},
    **{f"own_{name}": f"budget.{name}" for name in LIMITS},
    "own_egress": "egress",
}
"""The columns whose changes an event names, and their names there. Credentials and settings are compared separately."""


def make_change_events(
    project: Project, check: CredentialCheck | None, values: dict[str, Any], actor: Actor
) -> list[Event]:
    """Returns events with the names of the fields that differ from `project`, and with the check's warnings."""
    names = [COMPARED[name] for name, value in values.items() if name in COMPARED and value != getattr(project, name)]
    names += [field for field in (TELEGRAM_TOKEN, API_KEY) if f"{field}_ciphertext" in values]
    names += [
        f"settings.{name[:64]}"
        for name in find_changed_names(project.settings, values.get("settings", project.settings))
    ]
    done = [project.event(actor, "update", "done", detail=_list_changes(sorted(names)))] if names else []
    warnings = check.warnings if check else ()
    return done + [project.event(actor, "update", "warning", detail=warning) for warning in warnings]


def _list_changes(names: list[str]) -> str:
    """Lists as many names as an event has room for, and counts the others."""
    shown = names
    while len(sentence := _sentence(shown, left_out=len(names) - len(shown))) > DETAIL_LENGTH:
        shown = shown[:-1]
    return sentence


def _sentence(shown: list[str], *, left_out: int) -> str:
    return f"changed: {', '.join(shown)}" + (f" and {left_out} more" if left_out else "")
