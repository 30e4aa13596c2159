"""When the gateway was last started and did not answer, so that not every deploy waits for that."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0034_pairing")]
    operations = [migrations.AddField(model_name="gateway", name="silent_at", field=models.DateTimeField(null=True))]
