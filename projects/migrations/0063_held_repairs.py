from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0062_replaced_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='watch',
            name='holds_repairs',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
