"""How much memory of the host each project has, which until now was what its plan says."""

from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def note_memory(apps, schema_editor):
    plan = apps.get_model("projects", "Plan").objects.filter(pk=OuterRef("plan_id"))
    projects = apps.get_model("projects", "Project").objects.filter(memory_mb=None)
    projects.update(memory_mb=Subquery(plan.values("memory_mb")[:1]))


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0023_events_by_owner'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='memory_mb',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.RunPython(note_memory, migrations.RunPython.noop),
    ]
