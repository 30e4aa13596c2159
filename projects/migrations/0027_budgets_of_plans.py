"""The budgets that plans give: not together with the table of projects, since servers lock both in either order."""

import django.core.validators
from decimal import Decimal
from django.db import migrations, models


TOKENS = {"free": (500_000, 5_000_000), "starter": (2_000_000, 20_000_000), "pro": (10_000_000, 100_000_000)}
"""A day and a month, for shipped plans that nobody has taken away. All others begin without a limit."""


def give_shipped_plans_a_budget(apps, schema_editor):
    for slug, (day, month) in TOKENS.items():
        plans = apps.get_model("projects", "Plan").objects.filter(slug=slug)
        plans.update(day_tokens=day, month_tokens=month)


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0026_behind_gateway'),
    ]

    operations = [
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
        migrations.RunPython(give_shipped_plans_a_budget, migrations.RunPython.noop),
    ]
