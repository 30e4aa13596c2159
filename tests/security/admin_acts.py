"""The admin's actions without a confirmation, and why none is missing."""

UNDONE_BY = {
    ("project", "start"): "stop",
    ("project", "stop"): "start",
    **{("project", name): "nothing is lost: it keeps its memory" for name in ("restart", "update_images")},
    **{("project", name): "the other of the two" for name in ("confine", "let_out", "pin_images", "release_images")},
    ("project", "suspend"): "lift",
    ("project", "lift"): "suspend",
    ("outgoingmail", "send_again"): "nothing is lost: what was sent is not sent again",
    ("quarantined", "adopt"): "the deletion of the stopped project that it makes",
}
"""The actions that act at once, and what undoes them."""

ASKED_BY_DJANGO = {"delete_selected"}
BUTTONS = {
    **{f"accounts_user_{name}": "makes something and takes nothing away" for name in ("invite", "link")},
    "accounts_user_reset": "asks first",
    "projects_agenttype_trial": "changes nothing: what it starts is gone when it answers",
    "projects_agenttype_settings": "reads only",
    "projects_agenttype_setting": "is changed back, and added again, by the same form",
    "projects_project_batch": "goes on with an action that was confirmed where it asks",
    "projects_project_budget": "is changed back by the same form",
    **dict.fromkeys(("growth", "projects_project_log", "projects_project_log_news"), "reads only"),
}
"""The routes that our admins add to Django's, and why no confirmation is missing."""
