"""Which models a plan allows."""

import django.core.validators
import projects.models.columns.permissions
from django.db import migrations, models



class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0029_egress_of_projects'),
    ]

    operations = [
        migrations.AddField(
            model_name='plan',
            name='allowed_models',
            field=models.TextField(blank=True, db_default='', default='', help_text='The models that its projects may use, one on each line. Empty: all. In force within seconds.', validators=[django.core.validators.MaxLengthValidator(20000), projects.models.columns.permissions.check_models]),
        ),
    ]
