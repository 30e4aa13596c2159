"""Columns of budgets: a plan's limits, those that staff grant one project, and those that its owner sets."""

from typing import TYPE_CHECKING, Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from projects.rules.budget import LIMITS, MOST_MONEY, MOST_TOKENS, Budget, BudgetFacts, describe_budget
from projects.rules.budget import budget_in_force as choose_budget
from projects.rules.budget import ceiling_of as choose_ceiling

if TYPE_CHECKING:
    from projects.models.figures.usage import Spending

EMPTY = "Empty: no limit."


def _tokens(name: str, *, help_text: str, editable: bool = True) -> "models.PositiveBigIntegerField[Any, Any]":
    most = [MaxValueValidator(MOST_TOKENS)]
    return models.PositiveBigIntegerField(
        name, null=True, blank=True, validators=most, help_text=help_text, editable=editable
    )


def _money(name: str, *, help_text: str, editable: bool = True) -> "models.DecimalField[Any, Any]":
    return models.DecimalField(
        name,
        max_digits=11,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(MOST_MONEY)],
        help_text=help_text,
        editable=editable,
    )


class GivesBudget(models.Model):
    """The columns of a plan: the limits of its projects, and the highest limits that their owners may set."""

    day_tokens = _tokens("tokens a day", help_text=f"In and out together, by the UTC day. {EMPTY}")
    month_tokens = _tokens("tokens a month", help_text=EMPTY)
    day_money = _money("money a day", help_text=f"Counts calls of models that have a price. {EMPTY}")
    month_money = _money("money a month", help_text=EMPTY)

    class Meta:
        abstract = True

    @property
    def budget(self) -> Budget:
        return Budget(**{name: getattr(self, name) for name in LIMITS})

    @property
    def budget_facts(self) -> BudgetFacts:
        return describe_budget(self.budget)


_GRANT = "In place of what the plan gives. Empty: as the plan."


class Budgeted(models.Model):
    """The columns of a project. Its owner sets `own_…`; staff set `granted_…`, which may exceed the plan's limits."""

    own_day_tokens = _tokens("own tokens a day", help_text="", editable=False)
    own_month_tokens = _tokens("own tokens a month", help_text="", editable=False)
    own_day_money = _money("own money a day", help_text="", editable=False)
    own_month_money = _money("own money a month", help_text="", editable=False)
    granted_day_tokens = _tokens("tokens a day", help_text=_GRANT)
    granted_month_tokens = _tokens("tokens a month", help_text=_GRANT)
    granted_day_money = _money("money a day", help_text=_GRANT)
    granted_month_money = _money("money a month", help_text=_GRANT)

    budget_until = models.DateTimeField(null=True, editable=False)
    """When the budget that is reached is reset. None if it is not reached."""
    budget_refused_at = models.DateTimeField(null=True, editable=False)
    """The last refusal because of the budget that the gateway reported."""

    _plan_budget: Budget | None = None
    _spending: "tuple[Spending | None] | None" = None

    if TYPE_CHECKING:  # a foreign key of the model
        plan: Any

    class Meta:
        abstract = True

    def cache_plan_budget(self, budget: Budget) -> None:
        """Stores the plan's budget if a query has read it, so that the plan itself need not be read."""
        self._plan_budget = budget

    def cache_spending(self, spending: "Spending | None") -> None:
        """Stores the spending if a query has read it, so that it need not be read again."""
        self._spending = (spending,)

    @property
    def known_spending(self) -> "Spending | None":
        """The project's spending, or None if it has used nothing yet. Read at most once per instance."""
        return self._spending[0] if self._spending else getattr(self, "spending", None)

    @property
    def is_known_to_be_new(self) -> bool:
        """Whether it is known, without a query, that the project has used nothing yet."""
        return self._spending == (None,)

    @property
    def own_budget(self) -> Budget:
        return Budget(**{name: getattr(self, f"own_{name}") for name in LIMITS})

    @property
    def granted_budget(self) -> Budget:
        return Budget(**{name: getattr(self, f"granted_{name}") for name in LIMITS})

    @property
    def budget_ceiling(self) -> Budget:
        """The highest limits that the owner may set."""
        plan: Budget = self.plan.budget if self._plan_budget is None else self._plan_budget
        return choose_ceiling(plan, self.granted_budget)

    @property
    def budget(self) -> Budget:
        """The budget in force."""
        return choose_budget(self.own_budget, self.budget_ceiling)
