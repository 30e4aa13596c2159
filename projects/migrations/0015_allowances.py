"""Who may take which plan, and the memory of the engine's host.

All plans but the default one are closed to those whom staff have not named. Owners who have projects on another plan
keep as many as they have.
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.models import Count


def keep_what_owners_have(apps, schema_editor):
    projects = apps.get_model("projects", "Project").objects
    allowances = apps.get_model("projects", "Allowance").objects
    taken = projects.exclude(desired="deleted").exclude(plan__is_default=True)
    for owner, plan, number in taken.values_list("owner", "plan").annotate(Count("pk")).order_by():
        allowances.get_or_create(user_id=owner, plan_id=plan, defaults={"max_projects": number})


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0014_firewall_warning"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="EngineHost",
            fields=[
                ("instance", models.CharField(max_length=20, primary_key=True, serialize=False)),
                ("memory", models.PositiveBigIntegerField(null=True)),
                ("ask_again_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddField(
            model_name="plan",
            name="open_to_all",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether every user may take it. Else admins and whom an allowance names. The default plan is open.",
            ),
        ),
        migrations.CreateModel(
            name="Allowance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "max_projects",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Empty: as many as the plan says. 0: none, not even where it is open.",
                        null=True,
                        verbose_name="projects",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="allowances", to="projects.plan"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="allowances",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["user__email", "plan"]},
        ),
        migrations.AddConstraint(
            model_name="allowance",
            constraint=models.UniqueConstraint(
                fields=("user", "plan"),
                name="one_allowance_per_user_and_plan",
                violation_error_message="This user has an allowance for this plan already. Change that one.",
            ),
        ),
        migrations.RunPython(keep_what_owners_have, migrations.RunPython.noop),
    ]
