import django.db.models.deletion
from django.db import migrations, models

from accounts.database.field_index import DropFieldIndex


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0061_smaller_indexes'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='project',
            name='project_by_deadline',
        ),
        migrations.RemoveIndex(
            model_name='project',
            name='project_by_budget_end',
        ),
        DropFieldIndex(
            model_name='project',
            name='agent_type',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='projects', to='projects.agenttype'),
        ),
        DropFieldIndex(
            model_name='project',
            name='plan',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='projects', to='projects.plan'),
        ),
    ]
