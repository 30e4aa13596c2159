"""What agent types say of themselves, and the model of a project that names none, which was in the image's code."""

from typing import Any

import accounts.text
import django.core.validators
import projects.models.columns.type_facts
from django.db import migrations, models

SHIPPED = {"slug": "assistant", "image": "berth/assistant:latest"}
DESCRIPTION = "Answers in Telegram with the model of your provider, and remembers each chat."
DEFAULT_MODELS = "anthropic: claude-haiku-5-5\nopenrouter: openrouter/auto\nopenai: gpt-5.4-mini"
TITLES = {
    "model": "Model",
    "instructions": "Instructions",
    "allowed_users": "Allowed users",
    "provider": "Provider",
}


def describe_the_shipped_type(apps: Any, schema_editor: Any) -> None:
    """Settings get a title where staff have given them none."""
    for agent_type in apps.get_model("projects", "AgentType").objects.filter(**SHIPPED):
        agent_type.description, agent_type.default_models = DESCRIPTION, DEFAULT_MODELS
        schema = agent_type.settings_schema
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, part in properties.items() if isinstance(properties, dict) else ():
            if name in TITLES and isinstance(part, dict):
                part.setdefault("title", TITLES[name])
        agent_type.save(update_fields=["description", "default_models", "settings_schema"])


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0035_silence_of_gateway'),
    ]

    operations = [
        migrations.AddField(
            model_name='agenttype',
            name='capabilities',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=200),
        ),
        migrations.AddField(
            model_name='agenttype',
            name='default_models',
            field=models.TextField(blank=True, db_default='', default='', help_text='The model of a project that names none: one on a line, or one for each provider, such as `anthropic: claude-haiku-5-5`. Empty: the image chooses.', validators=[django.core.validators.MaxLengthValidator(20000), projects.models.columns.type_facts.check_default_models]),
        ),
        migrations.AddField(
            model_name='agenttype',
            name='description',
            field=models.CharField(blank=True, db_default='', default='', help_text='One sentence that says what it does, for those who choose.', max_length=200, validators=[accounts.text.check_hides_nothing]),
        ),
        migrations.AddField(
            model_name='agenttype',
            name='image_id',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=80),
        ),
        migrations.AddField(
            model_name='agenttype',
            name='variables',
            field=models.TextField(blank=True, db_default='', default='', help_text='More variables for an image that knows nothing of the contract, one on each line, such as `OPENAI_BASE_URL={provider_api}`. docs/agent-types.md lists what the braces may hold.', validators=[django.core.validators.MaxLengthValidator(20000), projects.models.columns.type_facts.check_variables]),
        ),
        migrations.RunPython(describe_the_shipped_type, migrations.RunPython.noop),
    ]
