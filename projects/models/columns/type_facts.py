"""Columns that describe an agent type: for people, for its containers, and as its image declares."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models
from referencing.exceptions import Unresolvable

from accounts.text import check_hides_nothing
from projects.models.provider import find_named, names_for, read_names
from projects.rules.named_providers import with_providers
from projects.rules.permissions import LIST_LENGTH
from projects.rules.settings.berth_settings import OWN_SETTINGS, fits_schema, may_be_default
from projects.rules.settings.schema import all_defaults_of
from projects.rules.settings.validator import SettingsValidator
from projects.rules.type_facts import SETTING, default_model, places_in, read_default_models, read_variables


def check_default_models(value: str) -> None:
    """Validates the default models. Raises `ValidationError`."""
    _check(read_default_models, value)


def check_variables(value: str) -> None:
    """Validates the variables. Raises `ValidationError`."""
    _check(read_variables, value)


def _check(read: Any, value: str) -> None:
    try:
        read(value)
    except ValueError as error:
        raise ValidationError(str(error)) from None


class DescribesItself(models.Model):
    """The columns of an agent type."""

    description = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        validators=[check_hides_nothing],
        help_text="One sentence that says what it does, for those who choose.",
    )
    default_models = models.TextField(
        blank=True,
        default="",
        db_default="",
        validators=[MaxLengthValidator(LIST_LENGTH), check_default_models],
        help_text="The model of a project that names none: one on a line, or one for each provider, such as "
        "`anthropic: claude-haiku-5-5`. Empty: the image chooses.",
    )
    variables = models.TextField(
        blank=True,
        default="",
        db_default="",
        validators=[MaxLengthValidator(LIST_LENGTH), check_variables],
        help_text="More variables for an image that knows nothing of the contract, one on each line, such as "
        "`OPENAI_BASE_URL={provider_api}`. docs/agent-types.md lists what the braces may hold.",
    )
    image_id = models.CharField(max_length=80, blank=True, default="", db_default="", editable=False)
    """The id of the image when the engine was last asked; empty if the engine did not have it."""
    capabilities = models.CharField(max_length=200, blank=True, default="", db_default="", editable=False)
    """The capabilities that the image declares in its label, separated by commas."""

    settings_schema: Any

    class Meta:
        abstract = True

    @property
    def capability_names(self) -> list[str]:
        return [name for name in self.capabilities.split(",") if name]

    @property
    def models_by_provider(self) -> dict[str, str]:
        """The default models for the API. A model without a provider has the key `any`."""
        return read_default_models(self.default_models)

    @property
    def offered_schema(self) -> Any:
        """The schema that owners see, with the providers that staff added."""
        return with_providers(self.settings_schema, read_names())

    def takes_settings(self, chosen: Any) -> bool:
        names = names_for(chosen)
        schema, own = with_providers(self.settings_schema, names), with_providers(OWN_SETTINGS, names)
        return fits_schema(chosen, schema, own=own)

    def default_model_of(self, provider: str) -> str:
        """Returns the model of a project that names none, or an empty text if there is no default."""
        named = find_named(provider)
        return named.default_model if named else default_model(self.default_models, provider)

    def check_facts(self, schema: Any) -> None:
        """Raises `ValidationError` if a variable or a default does not match the settings of this valid schema."""
        named = schema.get("properties") if isinstance(schema, dict) else None
        known = set(named) if isinstance(named, dict) else set()
        used = {place.removeprefix(SETTING) for place in _places(self.variables) if place.startswith(SETTING)}
        if known and (unknown := sorted(used - known)):
            message = f"The schema has no setting {unknown[0]}. Known are: {', '.join(sorted(known))}."
            raise ValidationError({"variables": message})
        for name, default in all_defaults_of(schema).items():
            if not may_be_default(name, default):
                raise ValidationError({"settings_schema": f"Berth cannot use the default of {name}. Leave it out."})
            if _errors_of(schema, name, default):
                raise ValidationError({"settings_schema": f"The default of {name} does not fit its own schema."})


def _places(variables: str) -> set[str]:
    """Returns the placeholders, or none if the variables are invalid, which the validator reports."""
    try:
        return places_in(variables)
    except ValueError:
        return set()


def _errors_of(schema: Any, name: str, default: Any) -> bool:
    """Returns whether this setting itself is invalid. Ignores other errors, such as missing required settings."""
    try:
        errors = SettingsValidator(schema).iter_errors({name: default})
        return any(error.absolute_path and error.absolute_path[0] == name for error in errors)
    except (RecursionError, Unresolvable):
        return False  # the API reports this as soon as a project has settings
