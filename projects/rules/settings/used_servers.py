"""Finds and replaces the addresses of servers whose credentials the gateway adds. Pure."""

from collections.abc import Mapping
from typing import Any

from projects.rules.settings.keyed_servers import CredentialLineError, marked

UNUSED = "No other setting has this address. Write it exactly as it is there, including its end."


def check_use(
    schema: Any, settings: Mapping[str, Any], known: Mapping[str, str], *, defaults: Mapping[str, Any]
) -> None:
    """Checks that another setting has the address of each credential that is not `known`.

    Without that the agent would never use the credential. `settings` are those that `separate` returns. Raises
    `CredentialLineError`.
    """
    names, used = marked(schema), set[str]()
    left = [value for name, value in {**defaults, **settings}.items() if name not in names]
    while left:
        value = left.pop()
        if isinstance(value, list | dict):
            left += value.values() if isinstance(value, dict) else value
        elif isinstance(value, str):
            used.add(value.strip())
    for name in names:
        lines = settings.get(name)
        for at, line in enumerate(lines if isinstance(lines, list) else []):
            if line.partition(" ")[0] not in {*used, *known}:
                raise CredentialLineError(UNUSED, path=f"settings.{name}.{at}")


def for_agent(schema: Any, settings: Mapping[str, Any], ways: Mapping[str, str]) -> dict[str, Any]:
    """Returns the settings for the agent: without credentials, and with the gateway's addresses (`ways`) instead of
    those of the servers whose credentials it adds.
    """
    left = {name: value for name, value in settings.items() if name not in marked(schema)}
    return {name: _lead(value, ways) for name, value in left.items()} if ways else left


def _lead(value: Any, ways: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_lead(each, ways) for each in value]
    if isinstance(value, dict):
        return {name: _lead(each, ways) for name, each in value.items()}
    return ways.get(value.strip(), value) if isinstance(value, str) else value
