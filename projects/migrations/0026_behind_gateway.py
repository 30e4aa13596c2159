"""Projects behind the gateway: addresses, virtual credentials, budgets, and what was spent."""

import django.core.validators
import django.db.models.deletion
from decimal import Decimal
from django.db import migrations, models



class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0025_gateway'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='address',
            field=models.GenericIPAddressField(editable=False, null=True, protocol='IPv4'),
        ),
        migrations.AddField(
            model_name='project',
            name='budget_refused_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='budget_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='entry_version',
            field=models.PositiveBigIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name='project',
            name='granted_day_money',
            field=models.DecimalField(blank=True, decimal_places=2, help_text='In place of what the plan gives. Empty: as the plan.', max_digits=11, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('999999999.99'))], verbose_name='money a day'),
        ),
        migrations.AddField(
            model_name='project',
            name='granted_day_tokens',
            field=models.PositiveBigIntegerField(blank=True, help_text='In place of what the plan gives. Empty: as the plan.', null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='tokens a day'),
        ),
        migrations.AddField(
            model_name='project',
            name='granted_month_money',
            field=models.DecimalField(blank=True, decimal_places=2, help_text='In place of what the plan gives. Empty: as the plan.', max_digits=11, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('999999999.99'))], verbose_name='money a month'),
        ),
        migrations.AddField(
            model_name='project',
            name='granted_month_tokens',
            field=models.PositiveBigIntegerField(blank=True, help_text='In place of what the plan gives. Empty: as the plan.', null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='tokens a month'),
        ),
        migrations.AddField(
            model_name='project',
            name='is_behind_gateway',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='project',
            name='own_day_money',
            field=models.DecimalField(blank=True, decimal_places=2, editable=False, max_digits=11, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('999999999.99'))], verbose_name='own money a day'),
        ),
        migrations.AddField(
            model_name='project',
            name='own_day_tokens',
            field=models.PositiveBigIntegerField(blank=True, editable=False, null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='own tokens a day'),
        ),
        migrations.AddField(
            model_name='project',
            name='own_month_money',
            field=models.DecimalField(blank=True, decimal_places=2, editable=False, max_digits=11, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('999999999.99'))], verbose_name='own money a month'),
        ),
        migrations.AddField(
            model_name='project',
            name='own_month_tokens',
            field=models.PositiveBigIntegerField(blank=True, editable=False, null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='own tokens a month'),
        ),
        migrations.AddField(
            model_name='project',
            name='polled_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='seen_code',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=40),
        ),
        migrations.AddField(
            model_name='project',
            name='seen_well',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=40),
        ),
        migrations.AddField(
            model_name='project',
            name='sees_from',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='virtual_key_ciphertext',
            field=models.TextField(blank=True, db_default='', default='', editable=False),
        ),
        migrations.AddField(
            model_name='project',
            name='virtual_token_ciphertext',
            field=models.TextField(blank=True, db_default='', default='', editable=False),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.UniqueConstraint(fields=('address',), name='one_project_per_address'),
        ),
        migrations.CreateModel(
            name='Spending',
            fields=[
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='spending', serialize=False, to='projects.project')),
                ('day', models.DateField()),
                ('day_messages', models.PositiveBigIntegerField(default=0)),
                ('day_requests', models.PositiveBigIntegerField(default=0)),
                ('day_tokens', models.PositiveBigIntegerField(default=0)),
                ('day_money', models.PositiveBigIntegerField(default=0)),
                ('day_told', models.PositiveSmallIntegerField(default=0)),
                ('month', models.DateField()),
                ('month_messages', models.PositiveBigIntegerField(default=0)),
                ('month_requests', models.PositiveBigIntegerField(default=0)),
                ('month_tokens', models.PositiveBigIntegerField(default=0)),
                ('month_money', models.PositiveBigIntegerField(default=0)),
                ('month_told', models.PositiveSmallIntegerField(default=0)),
            ],
        ),
    ]
