"""The assistant's limits per chat become settings of the type that ships."""

from typing import Any

from django.db import migrations

SHIPPED = {"slug": "assistant", "image": "berth/assistant:latest"}
SETTINGS = {
    "messages_per_minute": {
        "type": "integer",
        "title": "Messages a minute",
        "minimum": 1,
        "maximum": 600,
        "description": "How many messages of one chat are answered in a minute. Without it 10.",
    },
    "longest_message": {
        "type": "integer",
        "title": "Longest message",
        "minimum": 100,
        "maximum": 4096,
        "description": "How many characters a message to the agent may have. Without it 4096.",
    },
    "answer_seconds": {
        "type": "integer",
        "title": "Seconds for an answer",
        "minimum": 1,
        "maximum": 1800,
        "description": "After these the agent stops, and leaves what there is of the answer. Without it 300.",
    },
}


def add_settings(apps: Any, schema_editor: Any) -> None:
    """Leaves alone what staff have called the same, and a schema that they have made another thing of."""
    types = apps.get_model("projects", "AgentType").objects
    for agent_type in types.select_for_update().filter(**SHIPPED):  # staff may be changing it
        schema = agent_type.settings_schema
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if isinstance(properties, dict):
            schema["properties"] = SETTINGS | properties
            agent_type.save(update_fields=["settings_schema"])


class Migration(migrations.Migration):
    dependencies = [("projects", "0041_suspended_because")]
    operations = [migrations.RunPython(add_settings, migrations.RunPython.noop)]
