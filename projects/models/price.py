"""What models cost, as staff keep it."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.text import check_hides_nothing

_MOST = MaxValueValidator(Decimal(100_000))


class ModelPrice(models.Model):
    """For a million tokens, in the one currency of the installation. What a provider itself says of its price counts
    only for models that are not here."""

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
