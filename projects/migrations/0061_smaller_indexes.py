from django.db import migrations, models

from accounts.database.online_index import AddIndexOnline


class Migration(migrations.Migration):

    atomic = False  # so that nobody waits for the indexes

    dependencies = [
        ('projects', '0060_engine_nodes'),
    ]

    operations = [
        AddIndexOnline(
            model_name='project',
            index=models.Index(fields=['agent_type'], name='project_by_type'),
        ),
        AddIndexOnline(
            model_name='project',
            index=models.Index(fields=['plan'], name='project_by_plan'),
        ),
        AddIndexOnline(
            model_name='project',
            index=models.Index(condition=models.Q(('operation_deadline__isnull', False)), fields=['operation_deadline'], name='project_in_operation'),
        ),
        AddIndexOnline(
            model_name='project',
            index=models.Index(condition=models.Q(('budget_until__isnull', False)), fields=['budget_until'], name='project_over_budget'),
        ),
    ]
