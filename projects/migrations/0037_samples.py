"""What agents used of the machine, minute by minute."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0036_types_describe_themselves")]
    operations = [
        migrations.CreateModel(
            name="Sample",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("memory", models.PositiveBigIntegerField()),
                ("received", models.PositiveBigIntegerField()),
                ("sent", models.PositiveBigIntegerField()),
                ("project_id", models.UUIDField()),
                ("cpu", models.PositiveIntegerField()),
                ("minutes", models.PositiveSmallIntegerField(default=1)),
            ],
            options={
                "ordering": ["at"],
                "indexes": [models.Index(fields=["minutes", "at"], name="sample_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("project_id", "minutes", "at"), name="one_sample_per_moment")
                ],
            },
        ),
    ]
