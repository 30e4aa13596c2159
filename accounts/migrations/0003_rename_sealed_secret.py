"""Renames a field. Its column keeps its name, so that a server of the version before can go on meanwhile."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_second_factor_and_limits")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("secondfactor", "sealed_secret", "secret_ciphertext"),
                migrations.AlterField(
                    "secondfactor",
                    "secret_ciphertext",
                    models.TextField(db_column="sealed_secret", editable=False),
                ),
            ]
        )
    ]
