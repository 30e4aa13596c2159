"""What the agents of each plan may keep on the disk, and what each was measured to keep."""

import django.core.validators
from django.db import migrations, models

LARGER = {"starter": 2048, "pro": 5120}
"""MB, for shipped plans that nobody has taken away. All others begin with the default."""


def give_larger_plans_more(apps, schema_editor):
    for slug, size in LARGER.items():
        apps.get_model("projects", "Plan").objects.filter(slug=slug).update(disk_mb=size)



class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0020_rows_not_at_rest'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='disk_files',
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='disk_measured_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='disk_used',
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='disk_warned_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='plan',
            name='disk_mb',
            field=models.PositiveIntegerField(blank=True, db_default=1024, default=1024, help_text='What an agent may keep; at that it is stopped. Also one file for each 16 KB of it.', validators=[django.core.validators.MinValueValidator(16), django.core.validators.MaxValueValidator(16777216)], verbose_name='disk (MB)'),
        ),
        migrations.RunPython(give_larger_plans_more, migrations.RunPython.noop),
    ]
