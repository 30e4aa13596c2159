"""Providers that staff add to Anthropic, OpenRouter and OpenAI, such as Groq, Mistral or an Ollama server."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models

from accounts.text import check_hides_nothing
from projects.rules.named_providers import (
    Named,
    NamedProvider,
    is_of_known,
    takes_keys_of_others,
    with_providers,
)
from projects.rules.settings.berth_settings import OWN_SETTINGS, PROVIDERS

_SLUG = RegexValidator(r"\A[a-z][a-z0-9-]{0,19}\Z", "Write 1 to 20 of a-z, 0-9 and “-”, beginning with a letter.")
_PREFIX = RegexValidator(r"\A[!-~]{3,40}\Z", "Write 3 to 40 letters, digits and signs, or nothing.")
_MODEL = RegexValidator(r"\A[!-~]{1,200}\Z", "This is no name of a model.")
_BASE = RegexValidator(r"\A[!-~]{1,500}\Z", "An address holds no blanks, and letters of a to z only.")


class Provider(models.Model):
    """A provider with OpenAI's API. Only admins may add one, because keys of projects are sent to it."""

    slug = models.CharField(
        primary_key=True,
        max_length=20,
        validators=[_SLUG],
        help_text="What projects call it (`settings.provider`), such as groq.",
    )
    title = models.CharField(max_length=64, validators=[check_hides_nothing])
    base_url = models.CharField(
        "base URL",
        max_length=500,
        validators=[_BASE],
        help_text="Where its API begins, such as https://api.groq.com/openai/v1. It must speak as OpenAI's does.",
    )
    key_prefix = models.CharField(
        max_length=40,
        blank=True,
        default="",
        validators=[_PREFIX],
        help_text="How its keys begin, such as gsk_. By it the provider is told from the key; else projects name it.",
    )
    default_model = models.CharField(
        max_length=200, validators=[_MODEL], help_text="Of projects that name none, as the provider spells it."
    )
    is_private = models.BooleanField(
        "private",
        default=False,
        help_text="Whether it may be on this machine or in a private network, and be reached without TLS.",
    )

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(
                fields=["key_prefix"], condition=~models.Q(key_prefix=""), name="provider_of_each_key_prefix"
            )
        ]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        self.base_url = self.base_url.rstrip("/")
        errors = {"slug": self._find_clash(), "base_url": self._find_fault(), "key_prefix": self._find_thief()}
        if any(errors.values()):
            raise ValidationError({field: message for field, message in errors.items() if message})

    def _find_clash(self) -> str:
        return "Berth knows this one already. Take another name." if self.slug in PROVIDERS else ""

    def _find_thief(self) -> str:
        taken = takes_keys_of_others(self.key_prefix) if self.key_prefix else ""
        if not taken:
            others = Provider.objects.filter(key_prefix=self.key_prefix).exclude(pk=self.pk)
            is_theirs = bool(self.key_prefix) and others.exists()
            return "Another provider has this prefix. Change that one, or leave this empty." if is_theirs else ""
        return f"Keys of OpenAI or another begin with {taken}. Leave this empty: projects name it in settings.provider."

    def _find_fault(self) -> str:
        try:
            parts = urlsplit(self.base_url)
            is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or set("?#@") & set(self.base_url):
            return "Write an http or https address without a user, a query and a fragment."
        if parts.scheme == "http" and not self.is_private:
            return "It must begin with https://, so that nobody can read keys on their way."
        return ""


def read_named() -> Named:
    """Returns all providers that staff added, by name."""
    columns = ("base_url", "key_prefix", "default_model")
    return {
        slug: NamedProvider(base_url=base, key_prefix=prefix, default_model=model)
        for slug, base, prefix, model in Provider.objects.values_list("slug", *columns)
    }


def read_named_for(*, api_key: str, chosen: str) -> Named:
    """Returns the same, or none if the choice or the key alone shows that the provider is a built-in one."""
    return {} if chosen in PROVIDERS or (not chosen and is_of_known(api_key)) else read_named()


def find_named(name: str) -> NamedProvider | None:
    """Returns the provider with this name, or None. Makes no query for a built-in one."""
    return None if name in PROVIDERS or not name else read_named().get(name)


def read_names() -> list[str]:
    return list(Provider.objects.values_list("slug", flat=True))


def names_for(chosen: Any) -> list[str]:
    """Returns the names if these settings choose a provider that is not built in, else none without a query."""
    provider = chosen.get("provider") if isinstance(chosen, Mapping) else None
    return read_names() if isinstance(provider, str) and provider not in PROVIDERS else []


def own_settings_for(chosen: Any) -> Any:
    """Returns Berth's own rules for these settings."""
    return with_providers(OWN_SETTINGS, names_for(chosen))
