"""Credentials of servers that agents ask, and a setting of the assistant, the type that ships, that takes them."""

from typing import Any

from django.db import migrations, models

SHIPPED = {"slug": "assistant", "image": "berth/assistant:latest"}
SETTING = {
    "type": "array",
    "title": "Credentials of servers",
    "maxItems": 10,
    "x-berth-credentials": True,
    "items": {"type": "string", "maxLength": 2600},
    "description": "Of the search engine and of MCP servers that ask for one, one on each line: the https address as it "
    "stands above, a blank, and the credential, either a token or a header such as X-Api-Key: abc. Kept encrypted, shown to "
    "nobody, and put in by the gateway: the agent never has it.",
}
FORMER = (
    "Addresses of servers whose tools the model may use, by MCP over HTTP. No credentials: whoever sees the settings sees "
    "them."
)
DESCRIPTION = (
    "Addresses of servers whose tools the model may use, by MCP over HTTP. Without credentials: these have a setting of "
    "their own."
)


def add_setting(apps: Any, schema_editor: Any) -> None:
    """Leaves alone what staff have called the same or worded anew, and a schema that they have made another thing of."""
    types = apps.get_model("projects", "AgentType").objects
    for agent_type in types.select_for_update().filter(**SHIPPED):  # staff may be changing it
        schema = agent_type.settings_schema
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if isinstance(properties, dict):
            schema["properties"] = {"server_credentials": SETTING} | properties
            servers = properties.get("mcp")
            if isinstance(servers, dict) and servers.get("description") == FORMER:
                servers["description"] = DESCRIPTION
            agent_type.save(update_fields=["settings_schema"])


class Migration(migrations.Migration):
    dependencies = [("projects", "0050_indexes_of_many_rows")]
    operations = [
        migrations.AddField(
            model_name="project",
            name="server_credentials_ciphertext",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.RunPython(add_setting, migrations.RunPython.noop),
    ]
