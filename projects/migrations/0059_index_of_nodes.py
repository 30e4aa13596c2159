from django.db import migrations, models

from accounts.database.online_index import AddIndexOnline


class Migration(migrations.Migration):

    atomic = False  # so that nobody waits for the index

    dependencies = [
        ('projects', '0058_engine_lacks'),
    ]

    operations = [
        AddIndexOnline(
            model_name='project',
            index=models.Index(condition=models.Q(('gateway_node', ''), _negated=True), fields=['instance'], name='project_on_node'),
        ),
    ]
