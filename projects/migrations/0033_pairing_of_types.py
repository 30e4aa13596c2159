"""Which types pair people: not together with the table of projects, since servers lock both in either order.

Projects that exist get no secret, so that those who reach their agents now go on to.
"""

from typing import Any

from django.db import migrations, models

SHIPPED = {"slug": "assistant", "image": "berth/assistant:latest"}
BEFORE, SINCE = "^([0-9]{1,18}|@[A-Za-z0-9_]{3,64})$", r"^([0-9]{1,18}|@[A-Za-z0-9_]{3,64}|\*)$"
DESCRIBED = "Telegram user ids or @usernames; nobody else is answered."
DESCRIPTION = "Telegram user ids or @usernames, who need no pairing; * is everybody."


def let_the_shipped_type_pair(apps: Any, schema_editor: Any) -> None:
    """The type takes `*` where nobody has changed what it asks of `allowed_users`."""
    for agent_type in apps.get_model("projects", "AgentType").objects.filter(**SHIPPED):
        agent_type.pairs_people = True
        schema = agent_type.settings_schema
        properties = schema.get("properties") if isinstance(schema, dict) else None
        users = properties.get("allowed_users") if isinstance(properties, dict) else None
        if isinstance(users, dict) and users.get("items") == _items(BEFORE):
            users["items"] = _items(SINCE)
            if users.get("description") == DESCRIBED:
                users["description"] = DESCRIPTION
        agent_type.save(update_fields=["pairs_people", "settings_schema"])


def _items(pattern: str) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": 10**18}
    return {"anyOf": [number, {"type": "string", "pattern": pattern}]}


class Migration(migrations.Migration):
    dependencies = [("projects", "0032_events_of_owners_in_order")]
    operations = [
        migrations.AddField(
            model_name="agenttype",
            name="pairs_people",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether its image checks pairing codes: new projects then answer nobody but whom their "
                "owner pairs.",
            ),
        ),
        migrations.RunPython(let_the_shipped_type_pair, migrations.RunPython.noop),
    ]
