from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0004_canary")]
    operations = [
        migrations.RemoveField(model_name="idempotencyrecord", name="body"),
        migrations.AddField(
            model_name="idempotencyrecord",
            name="answer",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
    ]
