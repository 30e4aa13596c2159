"""Prices of models, which staff maintain."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.text import check_hides_nothing

_MOST = MaxValueValidator(Decimal(100_000))


class ModelPrice(models.Model):
    """The price of a million tokens, in the installation's currency. A price that a provider reports applies only to
    models without a row."""

    model = models.CharField(primary_key=True, max_length=200, validators=[check_hides_nothing])
    input = models.DecimalField(max_digits=12, decimal_places=6, validators=[MinValueValidator(0), _MOST])
    output = models.DecimalField(max_digits=12, decimal_places=6, validators=[MinValueValidator(0), _MOST])
    cached = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0), _MOST],
        help_text="Of input from the provider's cache. Empty: as other input.",
    )

    class Meta:
        ordering = ["model"]

    def __str__(self) -> str:
        return self.model
