"""What may be spent, as columns: a plan's limits, what staff grant one project, and what its owner sets."""

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
    """A plan: the limits of its projects, and the most that their owners may set."""

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
    """A project. `own_…` is what its owner has set, `granted_…` what staff have, which may be more than the plan's."""

    own_day_tokens = _tokens("own tokens a day", help_text="", editable=False)
    own_month_tokens = _tokens("own tokens a month", help_text="", editable=False)
    own_day_money = _money("own money a day", help_text="", editable=False)
    own_month_money = _money("own money a month", help_text="", editable=False)
    granted_day_tokens = _tokens("tokens a day", help_text=_GRANT)
    granted_month_tokens = _tokens("tokens a month", help_text=_GRANT)
    granted_day_money = _money("money a day", help_text=_GRANT)
    granted_month_money = _money("money a month", help_text=_GRANT)

    budget_until = models.DateTimeField(null=True, editable=False)
    """When the budget that is reached begins anew. None where there is room."""
    budget_refused_at = models.DateTimeField(null=True, editable=False)
    """The last refusal for the budget that the gateway has told of."""

    _plan_budget: Budget | None = None
    _spending: "tuple[Spending | None] | None" = None

    if TYPE_CHECKING:  # a foreign key of the model
        plan: Any

    class Meta:
        abstract = True

    def know_plan_budget(self, budget: Budget) -> None:
        """Of the plan, where a query asked for it, so that the plan itself need not be read."""
        self._plan_budget = budget

    def know_spending(self, spending: "Spending | None") -> None:
        """Where a query asked for it, so that it need not be read."""
        self._spending = (spending,)

    @property
    def known_spending(self) -> "Spending | None":
        """None for a project that has used nothing yet. Read once, as long as nobody reads the project again."""
        return self._spending[0] if self._spending else getattr(self, "spending", None)

    @property
    def is_known_to_be_new(self) -> bool:
        """Whether it has used nothing yet, as far as can be told without a question."""
        return self._spending == (None,)

    @property
    def own_budget(self) -> Budget:
        return Budget(**{name: getattr(self, f"own_{name}") for name in LIMITS})

    @property
    def granted_budget(self) -> Budget:
        return Budget(**{name: getattr(self, f"granted_{name}") for name in LIMITS})

    @property
    def budget_ceiling(self) -> Budget:
        """The most that the owner may set."""
        plan: Budget = self.plan.budget if self._plan_budget is None else self._plan_budget
        return choose_ceiling(plan, self.granted_budget)

    @property
    def budget(self) -> Budget:
        """The one in force."""
        return choose_budget(self.own_budget, self.budget_ceiling)
