"""The assistant's tools become settings of the type that ships."""

from typing import Any

from django.db import migrations

SHIPPED = {"slug": "assistant", "image": "berth/assistant:latest"}
SETTINGS = {
    "answer_steps": {
        "type": "integer",
        "title": "Steps of an answer",
        "minimum": 1,
        "maximum": 20,
        "description": "How often the model may use tools for one answer. Without it 8.",
    },
    "reminders": {
        "type": "boolean",
        "title": "Reminders",
        "description": "Whether it reminds people of what they ask it to. Without it yes.",
    },
    "time_zone": {
        "type": "string",
        "title": "Time zone",
        "minLength": 1,
        "maxLength": 64,
        "pattern": "^[A-Za-z][A-Za-z0-9_+/-]*$",
        "description": "Such as Europe/Berlin, for reminders. Without it UTC.",
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
    dependencies = [("projects", "0045_voice_of_the_assistant")]
    operations = [migrations.RunPython(add_settings, migrations.RunPython.noop)]
