"""Renames two models. Their tables keep their names, so that a server of the version before can go on meanwhile."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("projects", "0005_idempotent_answer")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Canary", "KeyCheck"),
                migrations.AlterModelTable("keycheck", "projects_canary"),
                migrations.RenameModel("Slot", "LongRequest"),
                migrations.AlterModelTable("longrequest", "projects_slot"),
            ]
        )
    ]
