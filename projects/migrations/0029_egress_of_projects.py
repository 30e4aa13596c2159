"""What a project may reach, as its owner and the staff say."""

from django.db import migrations, models



class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0028_limit_of_names'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='imposed_egress',
            field=models.CharField(choices=[('internet', 'the internet'), ('gateway', 'the gateway alone')], db_default='internet', default='internet', editable=False, max_length=10),
        ),
        migrations.AddField(
            model_name='project',
            name='own_egress',
            field=models.CharField(choices=[('internet', 'the internet'), ('gateway', 'the gateway alone')], db_default='internet', default='internet', editable=False, max_length=10),
        ),
    ]
