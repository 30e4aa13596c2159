"""Which installation this process belongs to, and how what belongs to it is named and recognised on an engine.

Several installations may share one engine, also by mistake: a second checkout, a mistyped data directory. Each has a
random id in its database. The id is on everything that it makes, and it changes nothing that carries another one.
"""

import hashlib
import hmac
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping

from django.conf import settings
from django.utils.module_loading import import_string

from containers.vocabulary import (
    GENERATION_LABEL,
    INSTALLATION_LABEL,
    INSTANCE_LABEL,
    PROJECT_LABEL,
    ContainerSpec,
    Observation,
)

REMEMBERED_FOR = 5.0
"""Seconds after which the id is read again: an operator may have restored a database or adopted another id."""

NAME_DIGITS = 20
_remembered: dict[str, tuple[str, float]] = {}


def installation_id() -> str:
    """The id, from the function that `BERTH_INSTALLATION_SOURCE` names. Raises what that raises."""
    source = settings.BERTH_INSTALLATION_SOURCE
    value, until = _remembered.get(source, ("", 0.0))
    now = time.monotonic()
    if now >= until:
        value = str(import_string(source)())
        _remembered[source] = value, now + REMEMBERED_FOR
    return value


def forget_installation_id() -> None:
    """The next question for the id reads it again."""
    _remembered.clear()


def own_labels() -> dict[str, str]:
    """The labels of everything that this installation makes."""
    return {INSTANCE_LABEL: settings.BERTH_INSTANCE, INSTALLATION_LABEL: installation_id()}


def is_labelled(labels: Mapping[str, str]) -> bool:
    """Whether these labels carry the id of this installation."""
    return own_labels().items() <= labels.items()


def is_former(labels: Mapping[str, str]) -> bool:
    """Whether these are labels of an installation of this name from the time before there were ids.

    Such a container or volume belongs to the installation that has its project. Its next deploy makes one with the id.
    """
    return labels.get(INSTANCE_LABEL) == settings.BERTH_INSTANCE and INSTALLATION_LABEL not in labels


def is_ours(labels: Mapping[str, str]) -> bool:
    """Whether an engine may change what carries these labels, where it belongs to a project of ours."""
    if labels.get(INSTANCE_LABEL) != settings.BERTH_INSTANCE:
        return False
    return INSTALLATION_LABEL not in labels or labels[INSTALLATION_LABEL] == installation_id()


def helper_labels(kind: str) -> dict[str, str]:
    """The labels of a short-lived container that is no agent: the label of its kind, with the instance, and our id."""
    return {kind: settings.BERTH_INSTANCE, INSTALLATION_LABEL: installation_id()}


def is_our_helper(labels: Mapping[str, str], kind: str) -> bool:
    """Whether these are labels of such a container, of this kind, that this installation may remove."""
    return is_ours({**labels, INSTANCE_LABEL: labels.get(kind, "")})


def container_name(key: str) -> str:
    """The name of the container of this key.

    Every agent can ask the engine's name server for the names of others. Nobody who does not know the id of the
    installation learns anything from them.
    """
    return f"{settings.BERTH_INSTANCE}-{_digest('container', key)[:NAME_DIGITS]}"


def former_name(key: str) -> str:
    """The name that the container of this key has if it was made before there were ids."""
    return f"{settings.BERTH_INSTANCE}-{key}"


def network_name() -> str:
    """The name of the agents' network: the operator's choice, or one that no other installation has."""
    return settings.BERTH_CONTAINER_NETWORK or f"{settings.BERTH_INSTANCE}-{_digest('network')[:8]}"


def gateway_network_name() -> str:
    """The network on which agents with an address of their own reach the gateway."""
    return f"{network_name()}-gateway"


def exit_network_name() -> str:
    """The gateway's own way out. Of several networks, an engine sends packets out by that whose name comes first."""
    return f"{network_name()}-exit"


def gateway_name() -> str:
    """The name of the gateway's volume; those of its containers begin with it."""
    return f"{settings.BERTH_INSTANCE}-gateway-{_digest('gateway')[:8]}"


def group_by_key(containers: Iterable[Observation]) -> dict[str, list[Observation]]:
    """The containers of each key, that with the highest rank first."""
    groups: dict[str, list[Observation]] = defaultdict(list)
    for container in sorted(containers, key=lambda each: each.rank, reverse=True):
        groups[container.labels.get(PROJECT_LABEL, "")].append(container)
    return dict(groups)


def carries(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether these are labels of the wanted container. One from before there were ids is one without an id."""
    ignored = {GENERATION_LABEL} | ({INSTALLATION_LABEL} if is_former(labels) else set())
    return all(labels.get(label) == value for label, value in wanted.items() if label not in ignored)


def is_of_another(found: Observation, spec: ContainerSpec) -> bool:
    """Whether this is the container of another agent of this installation."""
    return is_labelled(found.labels) and bool(found.key) and found.key != spec.key


def _digest(*words: str) -> str:
    return hmac.new(installation_id().encode(), "/".join(words).encode(), hashlib.sha256).hexdigest()
