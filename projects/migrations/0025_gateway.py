"""What the gateway has counted, what models cost, where the gateway is, and which address is given next."""

import accounts.text
import django.core.validators
from decimal import Decimal
from django.db import migrations, models



class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0024_reserved_memory'),
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
        migrations.AddIndex(
            model_name='hourlyusage',
            index=models.Index(fields=['hour'], name='usage_by_hour'),
        ),
        migrations.AddConstraint(
            model_name='hourlyusage',
            constraint=models.UniqueConstraint(fields=('project_id', 'hour', 'model', 'store'), name='one_usage_row_per_store'),
        ),
        migrations.AddField(
            model_name='installation',
            name='next_address',
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
    ]
