"""The staff's notice to everyone, and whether maintenance is on."""

from django.core.validators import MaxLengthValidator
from django.db import models

from accounts.text import check_hides_nothing

LONGEST = 500


class Notice(models.Model):
    """One row, or none. During `is_maintenance` only staff may change anything. Agents keep running, and reads work."""

    text = models.CharField(
        max_length=LONGEST,
        blank=True,
        default="",
        db_default="",
        validators=[check_hides_nothing, MaxLengthValidator(LONGEST)],
        help_text="Shown on every page, including the sign-in page. Leave empty to show none.",
    )
    is_maintenance = models.BooleanField(
        "maintenance",
        default=False,
        db_default=False,
        help_text="Only staff may change anything, and every page says so. Agents keep running.",
    )

    def __str__(self) -> str:
        return "Notice on all pages"

    @property
    def is_shown(self) -> bool:
        return bool(self.text or self.is_maintenance)
