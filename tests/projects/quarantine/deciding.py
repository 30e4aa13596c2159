"""The decisions of staff, on the command line and in the admin."""

from io import StringIO

from django.core.management import call_command
from django.test import Client

from projects.models import Quarantined

CHANGES = "/admin/projects/quarantined/"


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, no_color=True)
    return out.getvalue()


def act(admin: Client, action: str, entry: Quarantined, **fields: str) -> str:
    data = {"action": action, "_selected_action": [entry.pk], **fields}
    return admin.post(CHANGES, data, follow=True).content.decode()
