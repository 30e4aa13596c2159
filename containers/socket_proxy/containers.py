"""Checks the body of POST /containers/create for each kind of container that Berth creates.

A field that is not listed here is refused, so that new fields of later engines are refused too.
"""

import json
import re
from collections.abc import Mapping

from containers.socket_proxy.constants import (
    DATA_PATH,
    FIREWALL_IMAGE,
    GATEWAY_CPU_SHARES,
    SECRETS_PATH,
    Kind,
    Scope,
)
from containers.socket_proxy.fields import (
    CONFINED,
    DOOR,
    LABELS,
    LIMITED,
    LIMITS,
    NO_PRIVILEGES,
    SYSCTLS,
    TEXTS,
    container,
    published,
    restarts,
    unprivileged,
)
from containers.socket_proxy.shapes import ANY_FLAG, OFF, ON, Check, either, exactly, fields, items, mapping, text

_MOST_MOUNTS = 4096
_NOBODY, _ROOT = "65534:65534", "0:0"
_HANDS_OVER = ["CHOWN", "DAC_READ_SEARCH", "FOWNER"]
_ALONE = exactly("none")
_NO_PORTS = exactly({})
_JOINED = text(r"container:[0-9a-f]{64}")
_ENDS = {"AutoRemove": ON}
_OF_GATEWAY: Mapping[str, Check] = {
    "RestartPolicy": restarts("no", "unless-stopped", "always"),
    "Sysctls": mapping("|".join(map(re.escape, SYSCTLS)), exactly(*SYSCTLS.values()), most=len(SYSCTLS)),
    "CpuShares": exactly(GATEWAY_CPU_SHARES),
    "PortBindings": mapping(re.escape(DOOR), items(published, most=1), most=1),
}


class ContainerShapes:
    """The checks for one scope, with the seccomp profile that is part of the proxy."""

    def __init__(self, scope: Scope, profile: str) -> None:
        self._scope = scope
        self._profile = json.loads(profile)
        own, root, is_thrown_away = text(scope.network_name), exactly(_ROOT), {"ReadonlyRootfs": OFF}
        self._of = {
            Kind.AGENT: self._shape({}, network=own),
            Kind.KEEPER: self._shape({}, entry=exactly(["/in-quarantine"]), limited=()),
            Kind.CARRIER: self._shape(is_thrown_away, entry=exactly(["/never-started"]), limited=()),
            Kind.HANDOVER: self._shape({**is_thrown_away, **_ENDS, "CapAdd": exactly(_HANDS_OVER)}, user=root),
            Kind.MEASURES: self._shape(
                {**_ENDS, "CapAdd": exactly([], ["DAC_READ_SEARCH"])}, user=root, is_reading=True
            ),
            Kind.GATEWAY: self._shape(_OF_GATEWAY, network=own, ports=exactly({}, {DOOR: {}})),
            Kind.TRIAL: self._shape({}, network=either(_ALONE, _JOINED)),
        }
        self._sets_rules = _rules(
            {"NetworkMode": exactly("host"), "CapAdd": exactly(["NET_ADMIN", "NET_RAW"])},
            {"User": root, "Image": exactly(FIREWALL_IMAGE)},
        )
        nobody = exactly(_NOBODY)
        self._reads = _rules({"NetworkMode": exactly("bridge")}, {"User": nobody, "Image": exactly(FIREWALL_IMAGE)})
        self._tries = _rules({"NetworkMode": own}, {"User": nobody})

    def check(self, body: object) -> str | None:
        """Returns None if the container may be created, or the path of the field that is not allowed."""
        labels = body.get("Labels") if isinstance(body, dict) else None
        kind = self._scope.kind_of(labels) if isinstance(labels, dict) else None
        if kind is None or not isinstance(body, dict):
            return ".Labels"
        if kind is Kind.RULES:
            host = body.get("HostConfig")
            way = host.get("NetworkMode") if isinstance(host, dict) else None
            return (self._sets_rules if way == "host" else self._reads if way == "bridge" else self._tries)(body)
        wrong = self._of[kind](body)
        return _check_network(body) if wrong is None else wrong

    def _shape(
        self,
        host: Mapping[str, Check],
        *,
        network: Check = _ALONE,
        user: Check = unprivileged,
        entry: Check = TEXTS,
        ports: Check = _NO_PORTS,
        limited: tuple[str, ...] = LIMITED,
        is_reading: bool = False,
    ) -> Check:
        of_host = {
            **CONFINED,
            **LIMITS,
            "SecurityOpt": self._check_security,
            "NetworkMode": network,
            "Mounts": items(self._mount(is_reading=is_reading), most=_MOST_MOUNTS),
            **({"Runtime": exactly(self._scope.runtime)} if self._scope.runtime else {}),
            **host,
        }
        required = ("CapDrop", "SecurityOpt", "NetworkMode", "ReadonlyRootfs", "IpcMode", *limited)
        never_started = ("Entrypoint",) if entry is not TEXTS else ()
        top = {"User": user, "Entrypoint": entry, "ExposedPorts": ports}
        return container(of_host, top, required=required, also=never_started)

    def _check_security(self, value: object) -> str | None:
        """Requires `no-new-privileges` and Berth's seccomp profile, which is compared as JSON, not as text."""
        if not isinstance(value, list) or len(value) != 2 or value[0] != NO_PRIVILEGES:
            return ""
        name, _, profile = str(value[1]).partition("=")
        try:
            return None if name == "seccomp" and json.loads(profile) == self._profile else "[1]"
        except (ValueError, RecursionError):
            return "[1]"

    def _mount(self, *, is_reading: bool) -> Check:
        size = fields({"Name": exactly("local"), "Options": fields({"size": text(r"\d{1,16}")})}, required=("Name",))
        shape = {
            "Type": exactly("volume"),
            "Source": text(self._scope.name),
            "Target": text(rf"{DATA_PATH}|{SECRETS_PATH}|/v/\d{{1,4}}"),
            "ReadOnly": ON if is_reading else ANY_FLAG,
            "VolumeOptions": fields({"Labels": LABELS, "NoCopy": ANY_FLAG, "DriverConfig": size}),
        }
        return fields(shape, required=tuple(shape) if is_reading else ("Type", "Target"))


def _rules(host: Mapping[str, Check], top: Mapping[str, Check]) -> Check:
    """Returns a check for containers that set rules: they use the engine's own seccomp profile, and mount nothing."""
    of_host = {
        **{name: CONFINED[name] for name in ("ReadonlyRootfs", "CapDrop", "Tmpfs")},
        **{name: LIMITS[name] for name in (*LIMITED, "LogConfig")},
        "CapAdd": exactly([]),
        "SecurityOpt": exactly([NO_PRIVILEGES]),
        **host,
    }
    return container(of_host, {"Entrypoint": TEXTS, "NetworkingConfig": exactly({}), **top}, required=tuple(of_host))


def _check_network(body: Mapping[str, object]) -> str | None:
    """Requires that a fixed address is only on the network that the container joins."""
    host, networking = body["HostConfig"], body.get("NetworkingConfig")
    endpoints = networking.get("EndpointsConfig", {}) if isinstance(networking, dict) else {}
    is_same = not endpoints or (isinstance(host, dict) and list(endpoints) == [host["NetworkMode"]])
    return None if is_same else ".NetworkingConfig"
