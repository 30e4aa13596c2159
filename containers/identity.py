"""Identifies this installation, and names and recognises its containers, volumes and networks on an engine.

Several installations may share one engine, even by mistake: a second checkout, a mistyped data directory. Each has a
random id in its database. It labels everything that it creates with this id, and never changes anything that carries
another id.
"""

import hashlib
import hmac
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.conf import settings
from django.utils.module_loading import import_string

from containers.vocabulary import (
    GENERATION_LABEL,
    INSTALLATION_LABEL,
    INSTANCE_LABEL,
    PROJECT_LABEL,
    QUARANTINE_LABEL,
    ContainerSpec,
    Observation,
)

REMEMBERED_FOR = 5.0
"""Seconds after which the id is read again: an operator may have restored a database or adopted another id."""

NAME_DIGITS = 20

NO_LABELS = dict.fromkeys(
    (
        *("berth.address", "berth.copies", "berth.copies.of", "berth.empties", "berth.gateway"),
        *("berth.gateway.answered", "berth.gateway.made", "berth.gateway.node", "berth.gateway.turns"),
        *("berth.gateway.way", "berth.generation", "berth.handover", "berth.installation", "berth.instance"),
        *("berth.limits", "berth.measures", "berth.owner", "berth.project", "berth.pull", "berth.pull.repository"),
        *("berth.rules", "berth.trial", "berth.user"),
    ),
    "",
)
"""The labels by which Berth recognises containers, without values, which means the same as no label.

An engine adds an image's labels to those of a container, so that an image could pass its container off as a gateway or
as another agent. Every container is therefore created with all of these labels. `QUARANTINE_LABEL` is missing because
an older Berth does not look at its value; its containers are told by their network.
"""

_remembered: dict[str, tuple[str, float]] = {}


def installation_id() -> str:
    """Returns the id from the function that `BERTH_INSTALLATION_SOURCE` names. Raises the errors of that function."""
    source = settings.BERTH_INSTALLATION_SOURCE
    value, until = _remembered.get(source, ("", 0.0))
    now = time.monotonic()
    if now >= until:
        value = str(import_string(source)())
        _remembered[source] = value, now + REMEMBERED_FOR
    return value


def forget_installation_id() -> None:
    """Makes the next call of `installation_id` read the id again."""
    _remembered.clear()


def own_labels() -> dict[str, str]:
    """Returns the labels of everything that this installation creates."""
    return {INSTANCE_LABEL: settings.BERTH_INSTANCE, INSTALLATION_LABEL: installation_id()}


def is_labelled(labels: Mapping[str, str]) -> bool:
    """Returns whether these labels carry the id of this installation."""
    return own_labels().items() <= labels.items()


def is_former(labels: Mapping[str, str]) -> bool:
    """Returns whether these labels carry this instance's name but no installation id, from before there were ids.

    Such a container or volume belongs to the installation that has its project. The next deploy adds the id.
    """
    return labels.get(INSTANCE_LABEL) == settings.BERTH_INSTANCE and not labels.get(INSTALLATION_LABEL)


def is_ours(labels: Mapping[str, str]) -> bool:
    """Returns whether an engine may change an object with these labels, provided it belongs to a project of ours."""
    if labels.get(INSTANCE_LABEL) != settings.BERTH_INSTANCE:
        return False
    return labels.get(INSTALLATION_LABEL) in {None, "", installation_id()}


def helper_labels(kind: str) -> dict[str, str]:
    """Returns the labels of a short-lived helper container: its kind with the instance as value, and our id."""
    return {kind: settings.BERTH_INSTANCE, INSTALLATION_LABEL: installation_id()}


def is_our_helper(labels: Mapping[str, str], kind: str) -> bool:
    """Returns whether these are labels of such a helper of this kind that this installation may remove.

    What belongs to a project is no helper, no matter which labels it has from its image.
    """
    return not labels.get(PROJECT_LABEL) and is_ours({**labels, INSTANCE_LABEL: labels.get(kind, "")})


def container_name(key: str) -> str:
    """Returns the name of the container of this key.

    Every agent can look up the names of others at the engine's name server. The names reveal nothing to anyone who
    does not know the id of the installation.
    """
    return f"{settings.BERTH_INSTANCE}-{_digest('container', key)[:NAME_DIGITS]}"


def former_name(key: str) -> str:
    """Returns the name of a container of this key that was created before there were ids."""
    return f"{settings.BERTH_INSTANCE}-{key}"


def network_name() -> str:
    """Returns the name of the agents' network: the operator's choice, or a name that no other installation has."""
    return settings.BERTH_CONTAINER_NETWORK or f"{settings.BERTH_INSTANCE}-{_digest('network')[:8]}"


def gateway_network_name() -> str:
    """Returns the name of the network on which agents with a fixed address reach the gateway."""
    return f"{network_name()}-gateway"


def exit_network_name() -> str:
    """Returns the name of the gateway's network to the outside.

    If a container has several networks, the engine routes its packets through the one whose name comes first.
    """
    return f"{network_name()}-exit"


def gateway_name() -> str:
    """Returns the name of the gateway's volume, with which the names of its containers begin."""
    return f"{settings.BERTH_INSTANCE}-gateway-{_digest('gateway')[:8]}"


def group_by_key(containers: Iterable[Observation]) -> dict[str, list[Observation]]:
    """Returns the containers of each key, the one with the highest rank first."""
    groups: dict[str, list[Observation]] = defaultdict(list)
    for container in sorted(containers, key=lambda each: each.rank, reverse=True):
        groups[container.labels.get(PROJECT_LABEL, "")].append(container)
    return dict(groups)


def carries(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Returns whether the labels match the wanted ones. Labels from before there were ids need no id to match."""
    ignored = {GENERATION_LABEL} | ({INSTALLATION_LABEL} if is_former(labels) else set())
    return all(labels.get(label) == value for label, value in wanted.items() if label not in ignored)


def is_of_another(found: Observation, spec: ContainerSpec) -> bool:
    """Returns whether this is the container of another agent of this installation."""
    return is_labelled(found.labels) and bool(found.key) and found.key != spec.key


def _digest(*words: str) -> str:
    return hmac.new(installation_id().encode(), "/".join(words).encode(), hashlib.sha256).hexdigest()


def find_spare(found: Sequence[Observation]) -> list[Observation]:
    """Returns the containers of one key that are down beside the only one that is up.

    Berth makes none of them: someone has copied a container with its labels. The engine would start such a copy beside
    the agent, which would poll the same bot.
    """
    if sum(each.is_up for each in found) != 1:
        return []
    return [each for each in found if not each.is_up and QUARANTINE_LABEL not in each.labels]
