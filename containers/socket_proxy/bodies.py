"""Checks the other request bodies: of networks, of programs to run, and of changes to a container."""

import json
from ipaddress import IPv4Address, IPv4Network

from containers.socket_proxy.addresses import address, subnet
from containers.socket_proxy.constants import INSTANCE_LABEL, TALK, Scope
from containers.socket_proxy.fields import LIMITS, restarts
from containers.socket_proxy.shapes import ANY_FLAG, OFF, ON, Check, either, exactly, fields, items, mapping, text

LARGEST = 4 * 1024 * 1024
"""Bytes of a body that is read at once. A container that measures thousands of volumes names them all."""

_BRIDGE = "com.docker.network.bridge"

EXEC = fields(
    {
        "Container": text(r"[0-9a-zA-Z_.-]{1,128}"),
        "User": exactly(""),
        "Privileged": OFF,
        "Tty": OFF,
        "AttachStdin": ON,
        "AttachStdout": ON,
        "AttachStderr": OFF,
        "Cmd": exactly(TALK),
        "Env": exactly(None),
        "WorkingDir": exactly("/"),
    },
    required=("Cmd", "WorkingDir"),
)
START = fields({"Detach": OFF, "Tty": OFF}, required=("Detach", "Tty"))
_AGAIN = ("Memory", "MemorySwap", "NanoCpus", "PidsLimit")
UPDATE = either(
    fields({"RestartPolicy": restarts("no", "unless-stopped")}, required=("RestartPolicy",)),
    fields({name: LIMITS[name] for name in _AGAIN}, required=_AGAIN),
)
"""An update of an agent's restart policy or limits. An agent's container may have the same values from its creation."""
UPDATE_OF_GATEWAY = fields({"RestartPolicy": restarts("no", "unless-stopped", "always")}, required=("RestartPolicy",))
UPDATE_OF_ANY = either(UPDATE, UPDATE_OF_GATEWAY)
CONNECT = fields(
    {
        "Container": text(r"[0-9a-zA-Z_.-]{1,128}"),
        "EndpointConfig": fields({"IPAMConfig": fields({"IPv4Address": address})}),
    },
    required=("Container",),
)
DISCONNECT = fields({"Container": text(r"[0-9a-zA-Z_.-]{1,128}"), "Force": ANY_FLAG}, required=("Container",))


def _pool(value: object) -> str | None:
    """Checks an address pool that Berth chose: all its addresses must be in its subnet."""
    wrong = fields({"Subnet": subnet, "Gateway": address, "IPRange": subnet}, required=("Subnet",))(value)
    if wrong is not None or not isinstance(value, dict):
        return wrong
    whole = IPv4Network(value["Subnet"])
    if "Gateway" in value and IPv4Address(value["Gateway"]) not in whole:
        return ".Gateway"
    return None if IPv4Network(value.get("IPRange", whole)).subnet_of(whole) else ".IPRange"


def network(scope: Scope) -> Check:
    """Returns a check for a bridge network that isolates its containers, and whose name Berth's rules match."""
    labels = mapping(r"berth\.[a-z]{1,40}", text(r"[A-Za-z0-9-]{1,200}"), most=5)
    options = {f"{_BRIDGE}.enable_icc": exactly("false"), f"{_BRIDGE}.name": text(r"(berth|bexit|btry)-[0-9a-f]{8}")}
    shape = fields(
        {
            "Name": text(scope.network_name),
            "CheckDuplicate": ON,
            "Driver": exactly("bridge"),
            "EnableIPv6": OFF,
            "Internal": OFF,
            "Attachable": OFF,
            "Labels": labels,
            "Options": fields(options, required=tuple(options)),
            "IPAM": fields({"Driver": exactly("default"), "Config": items(_pool, most=1)}),
        },
        required=("Name", "Driver", "Labels", "Options"),
    )

    def check(value: object) -> str | None:
        wrong = shape(value)
        if wrong is not None or not isinstance(value, dict):
            return wrong
        return None if value["Labels"].get(INSTANCE_LABEL) == scope.instance else ".Labels"

    return check


def read(body: bytes) -> object:
    """Returns the value of a JSON body. Raises `ValueError`, also for repeated keys, on which parsers differ."""
    try:
        return json.loads(body.decode(), object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refuse(_: str) -> object:
    raise ValueError
