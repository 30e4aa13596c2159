"""The model that writes down voice messages becomes a setting of the type that ships."""

from typing import Any

from django.db import migrations

SHIPPED = {"slug": "assistant", "image": "berth/assistant:latest"}
SETTINGS = {
    "voice_model": {
        "type": "string",
        "title": "Voice model",
        "minLength": 1,
        "maxLength": 100,
        "description": "The model that writes down voice messages, as its provider spells it. Without it one of "
        "OpenAI's; Anthropic has none.",
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
    dependencies = [("projects", "0044_alerts")]
    operations = [migrations.RunPython(add_settings, migrations.RunPython.noop)]
