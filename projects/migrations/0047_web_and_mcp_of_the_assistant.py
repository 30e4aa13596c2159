"""The web and servers of tools become settings of the assistant, the type that ships. All are off unless set."""

from typing import Any

from django.db import migrations

SHIPPED = {"slug": "assistant", "image": "berth/assistant:latest"}
ADDRESS = "^https?://[^ ]+$"
SETTINGS = {
    "web": {
        "type": "boolean",
        "title": "Web",
        "description": "Whether it reads pages of the web that people name, as far as its way out allows. Without it no.",
    },
    "search_url": {
        "type": "string",
        "title": "Search engine",
        "maxLength": 255,
        "pattern": ADDRESS,
        "description": "The search page of an engine that answers as SearXNG does, such as https://searx.example/search. "
        "Without it nothing is searched.",
    },
    "mcp": {
        "type": "array",
        "title": "MCP servers",
        "maxItems": 5,
        "uniqueItems": True,
        "items": {"type": "string", "maxLength": 500, "pattern": ADDRESS},
        "description": "Addresses of servers whose tools the model may use, by MCP over HTTP. No credentials: whoever "
        "sees the settings sees them.",
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
    dependencies = [("projects", "0046_tools_of_the_assistant")]
    operations = [migrations.RunPython(add_settings, migrations.RunPython.noop)]
