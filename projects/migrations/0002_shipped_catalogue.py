"""The plans and the agent type that every installation begins with. The staff change them in the admin."""

from typing import Any

from django.db import migrations

TEXT = {"type": "string", "minLength": 1}
ASSISTANT_SETTINGS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "model": {**TEXT, "maxLength": 100, "description": "The model's name as its provider spells it."},
        "instructions": {**TEXT, "maxLength": 8000, "description": "How the agent is to behave."},
        "allowed_users": {
            "type": "array",
            "maxItems": 200,
            "uniqueItems": True,
            "description": "Telegram user ids or @usernames; nobody else is answered.",
            "items": {
                "anyOf": [
                    {"type": "integer", "minimum": 1, "maximum": 10**18},
                    {"type": "string", "pattern": "^([0-9]{1,18}|@[A-Za-z0-9_]{3,64})$"},
                ]
            },
        },
        "provider": {"enum": ["anthropic", "openai", "openrouter"], "description": "Else told from the API key."},
    },
}
PLANS = [
    {"slug": "free", "memory_mb": 256, "cpus": "0.25", "max_projects": 1, "is_default": True},
    {"slug": "starter", "memory_mb": 512, "cpus": "0.5", "max_projects": 3},
    {"slug": "pro", "memory_mb": 1024, "cpus": "1", "max_projects": 10},
]


def ship(apps: Any, schema_editor: Any) -> None:
    for plan in PLANS:
        apps.get_model("projects", "Plan").objects.create(**plan)
    apps.get_model("projects", "AgentType").objects.create(
        slug="assistant",
        title="Assistant",
        image="berth/assistant:latest",
        settings_schema=ASSISTANT_SETTINGS,
        min_memory_mb=128,
        stop_timeout=15,
        is_default=True,
    )


class Migration(migrations.Migration):
    dependencies = [("projects", "0001_initial")]
    operations = [migrations.RunPython(ship, migrations.RunPython.noop)]
