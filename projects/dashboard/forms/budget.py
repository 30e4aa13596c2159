"""The form in which owners set a budget."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from django import forms

from projects.dashboard.forms.fields import find_untouched, send_shown
from projects.errors import InvalidFieldError
from projects.models import Project
from projects.rules.budget import LIMITS, MOST_MONEY, MOST_TOKENS


def _tokens(label: str) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=0, max_value=MOST_TOKENS)


def _money(label: str) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, required=False, min_value=Decimal(0), max_value=MOST_MONEY, decimal_places=2, max_digits=11
    )


class LimitsForm(forms.Form):
    """The limits. An empty field stands for the default limit, which its help text names."""

    day_tokens = _tokens("Tokens a day")
    month_tokens = _tokens("Tokens a month")
    day_money = _money("Money a day")
    month_money = _money("Money a month")

    def refuse(self, error: Exception) -> None:
        """Shows why a service refused, next to the field or above all fields."""
        name = error.field.partition(".")[2] if isinstance(error, InvalidFieldError) else ""
        self.add_error(name if name in self.fields else None, str(error))


class BudgetForm(LimitsForm):
    def __init__(self, project: Project, data: Mapping[str, Any] | None = None) -> None:
        own, ceiling = project.own_budget, project.budget_ceiling
        super().__init__(data, initial={name: getattr(own, name) for name in LIMITS})
        for name in LIMITS:
            most = getattr(ceiling, name)
            field = cast(forms.IntegerField | forms.DecimalField, self.fields[name])
            field.help_text = f"At most {most:,}, as when left empty." if most is not None else "Left empty: no limit."
        send_shown(self, LIMITS)

    @property
    def changed(self) -> dict[str, Any]:
        """The limits that the owner has changed."""
        untouched = find_untouched(self)
        return {name: limit for name, limit in self.cleaned_data.items() if name not in untouched}
