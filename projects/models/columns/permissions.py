"""Columns: which hosts agents may reach and which models they may use."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models

from projects.rules.permissions import (
    LIST_LENGTH,
    Egress,
    egress_in_force,
    models_in_force,
    read_hosts,
    read_models,
    split_list,
)


def check_hosts(value: str) -> None:
    """Validates a list of hosts. Raises `ValidationError`."""
    _check(read_hosts, value)


def check_models(value: str) -> None:
    """Validates a list of models. Raises `ValidationError`."""
    _check(read_models, value)


def _check(read: Callable[[str], list[str]], value: str) -> None:
    try:
        read(value)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def _list(check: Callable[[str], None], help_text: str) -> "models.TextField[Any, Any]":
    checks: list[Callable[[Any], None]] = [MaxLengthValidator(LIST_LENGTH), check]
    return models.TextField(blank=True, default="", db_default="", validators=checks, help_text=help_text)


def _egress(help_text: str = "", *, editable: bool = True) -> "models.CharField[Any, Any]":
    default = Egress.INTERNET
    return models.CharField(
        max_length=10,
        choices=Egress,
        default=default,
        db_default=default.value,
        help_text=help_text,
        editable=editable,
    )


class NamesModels(models.Model):
    """The columns that a plan and an agent type share."""

    allowed_models = _list(
        check_models, "The models that its projects may use, one on each line. Empty: all. In force within seconds."
    )

    class Meta:
        abstract = True

    @property
    def model_names(self) -> list[str] | None:
        """The models for the API; None means all."""
        return split_list(self.allowed_models) or None


class LimitsReach(NamesModels):
    """The columns of an agent type."""

    egress = _egress("What its agents reach, from their next start on. Owners may choose less.")
    allowed_hosts = _list(
        check_hosts,
        "Hosts of the internet that its agents reach through the gateway, one on each line: api.example.com, or "
        "api.example.com:8443. In force within seconds.",
    )

    class Meta:
        abstract = True

    def tidy_hosts(self) -> None:
        """Rewrites the hosts as the gateway compares them. Leaves invalid ones to the validator."""
        with suppress(ValueError):
            self.allowed_hosts = "\n".join(read_hosts(self.allowed_hosts))

    @property
    def least_egress(self) -> Egress:
        """The loosest choice that the owner of a project of this type may make."""
        return egress_in_force((settings.BERTH_EGRESS, self.egress))

    @property
    def host_names(self) -> list[str]:
        return split_list(self.allowed_hosts)


class Permitted(models.Model):
    """The columns of a project: the choices of its owner and of staff. The strictest applies."""

    own_egress = _egress(editable=False)
    imposed_egress = _egress(editable=False)

    _known_permissions: tuple[str, str, str] | None = None

    if TYPE_CHECKING:  # foreign keys of the model
        plan: Any
        agent_type: Any

    class Meta:
        abstract = True

    def cache_permissions(self, *, egress: str, of_type: str, of_plan: str) -> None:
        """Stores the type's egress and both lists of models if a query has read them, so that no row is read."""
        self._known_permissions = egress, of_type, of_plan

    @property
    def _permissions(self) -> tuple[str, str, str]:
        if self._known_permissions is not None:
            return self._known_permissions
        of_type, plan = self.agent_type, self.plan
        return of_type.egress, of_type.allowed_models, plan.allowed_models

    @property
    def least_egress(self) -> Egress:
        """The loosest choice that the owner may make."""
        return egress_in_force((settings.BERTH_EGRESS, self.imposed_egress, self._permissions[0]))

    @property
    def egress(self) -> Egress:
        """The choice in force from the next start on."""
        return egress_in_force((self.least_egress, self.own_egress))

    @property
    def permitted_models(self) -> frozenset[str] | None:
        """The models that the agent may use; None means all."""
        return models_in_force(self._permissions[1:])

    @property
    def model_names(self) -> list[str] | None:
        """The models for the API; None means all."""
        allowed = self.permitted_models
        return None if allowed is None else sorted(allowed)
