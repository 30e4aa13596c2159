"""What the agents of a type reach, and which models they may use."""

import django.core.validators
import projects.models.columns.permissions
from django.db import migrations, models



class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0030_models_of_plans'),
    ]

    operations = [
        migrations.AddField(
            model_name='agenttype',
            name='allowed_hosts',
            field=models.TextField(blank=True, db_default='', default='', help_text='Hosts of the internet that its agents reach through the gateway, one on each line: api.example.com, or api.example.com:8443. In force within seconds.', validators=[django.core.validators.MaxLengthValidator(20000), projects.models.columns.permissions.check_hosts]),
        ),
        migrations.AddField(
            model_name='agenttype',
            name='allowed_models',
            field=models.TextField(blank=True, db_default='', default='', help_text='The models that its projects may use, one on each line. Empty: all. In force within seconds.', validators=[django.core.validators.MaxLengthValidator(20000), projects.models.columns.permissions.check_models]),
        ),
        migrations.AddField(
            model_name='agenttype',
            name='egress',
            field=models.CharField(choices=[('internet', 'the internet'), ('gateway', 'the gateway alone')], db_default='internet', default='internet', help_text='What its agents reach, from their next start on. Owners may choose less.', max_length=10),
        ),
    ]
