"""Agents behind the gateway: addresses, virtual credentials, budgets, prices, and what was used."""

import accounts.text
import django.core.validators
import django.db.models.deletion
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

TOKENS = {"free": (500_000, 5_000_000), "starter": (2_000_000, 20_000_000), "pro": (10_000_000, 100_000_000)}
"""A day and a month, for shipped plans that nobody has taken away. All others begin without a limit."""


def give_shipped_plans_a_budget(apps, schema_editor):
    for slug, (day, month) in TOKENS.items():
        plans = apps.get_model("projects", "Plan").objects.filter(slug=slug)
        plans.update(day_tokens=day, month_tokens=month)


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0024_reserved_memory'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Gateway',
            fields=[
                ('instance', models.CharField(max_length=20, primary_key=True, serialize=False)),
                ('store', models.CharField(blank=True, default='', max_length=64)),
                ('seq', models.PositiveBigIntegerField(default=0)),
                ('told_digest', models.CharField(blank=True, default='', max_length=64)),
                ('warning', models.CharField(blank=True, default='', max_length=300)),
                ('subnet', models.CharField(blank=True, default='', max_length=18)),
                ('host', models.GenericIPAddressField(null=True, protocol='IPv4')),
                ('port', models.PositiveIntegerField(default=0)),
                ('knows_sources', models.BooleanField(default=False)),
                ('found_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='HourlyUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('project_id', models.UUIDField()),
                ('owner_id', models.UUIDField()),
                ('hour', models.DateTimeField()),
                ('model', models.CharField(blank=True, max_length=200)),
                ('store', models.CharField(max_length=64)),
                ('messages', models.PositiveBigIntegerField(default=0)),
                ('requests', models.PositiveBigIntegerField(default=0)),
                ('errors', models.PositiveBigIntegerField(default=0)),
                ('estimated', models.PositiveBigIntegerField(default=0)),
                ('input', models.PositiveBigIntegerField(default=0)),
                ('output', models.PositiveBigIntegerField(default=0)),
                ('cached', models.PositiveBigIntegerField(default=0)),
                ('money', models.PositiveBigIntegerField(default=0)),
            ],
            options={
                'ordering': ['hour', 'model'],
            },
        ),
        migrations.CreateModel(
            name='ModelPrice',
            fields=[
                ('model', models.CharField(max_length=200, primary_key=True, serialize=False, validators=[accounts.text.check_hides_nothing])),
                ('input', models.DecimalField(decimal_places=6, max_digits=12, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('100000'))])),
                ('output', models.DecimalField(decimal_places=6, max_digits=12, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('100000'))])),
                ('cached', models.DecimalField(blank=True, decimal_places=6, help_text="Of input from the provider's cache. Empty: as other input.", max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('100000'))])),
            ],
            options={
                'ordering': ['model'],
            },
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
        # In the order in which servers lock them, or one would wait for the other: projects, then what they refer to.
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
        migrations.AddField(
            model_name='installation',
            name='next_address',
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='plan',
            name='day_money',
            field=models.DecimalField(blank=True, decimal_places=2, help_text='Counts calls of models that have a price. Empty: no limit.', max_digits=11, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('999999999.99'))], verbose_name='money a day'),
        ),
        migrations.AddField(
            model_name='plan',
            name='day_tokens',
            field=models.PositiveBigIntegerField(blank=True, help_text='In and out together, by the UTC day. Empty: no limit.', null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='tokens a day'),
        ),
        migrations.AddField(
            model_name='plan',
            name='month_money',
            field=models.DecimalField(blank=True, decimal_places=2, help_text='Empty: no limit.', max_digits=11, null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(Decimal('999999999.99'))], verbose_name='money a month'),
        ),
        migrations.AddField(
            model_name='plan',
            name='month_tokens',
            field=models.PositiveBigIntegerField(blank=True, help_text='Empty: no limit.', null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='tokens a month'),
        ),
        migrations.AddIndex(
            model_name='hourlyusage',
            index=models.Index(fields=['hour'], name='usage_by_hour'),
        ),
        migrations.AddConstraint(
            model_name='hourlyusage',
            constraint=models.UniqueConstraint(fields=('project_id', 'hour', 'model', 'store'), name='one_usage_row_per_store'),
        ),
        migrations.RunPython(give_shipped_plans_a_budget, migrations.RunPython.noop),
    ]
