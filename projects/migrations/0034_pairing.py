from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0033_pairing_of_types")]
    operations = [
        migrations.AddField(
            model_name="project",
            name="agent_paired",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="project",
            name="pairing_from",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="project",
            name="pairing_number",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="project",
            name="pairing_secret_ciphertext",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
    ]
