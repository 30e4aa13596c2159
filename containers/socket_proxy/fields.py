"""Checks for the fields of a container's body that are the same for every kind of container."""

import ipaddress
import re
from collections.abc import Mapping

from containers.socket_proxy.addresses import address
from containers.socket_proxy.constants import GATEWAY_PORT
from containers.socket_proxy.shapes import (
    ANY_FLAG,
    OFF,
    ON,
    Check,
    anything,
    exactly,
    fields,
    items,
    mapping,
    text,
    whole,
)

MOST = 1 << 50
NO_PRIVILEGES = "no-new-privileges:true"
DOOR = f"{GATEWAY_PORT}/tcp"
SYSCTLS = {"net.ipv4.ip_forward": "0", "net.ipv4.conf.all.accept_source_route": "0", "net.core.somaxconn": "4096"}
_IMAGE = r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}"
_NO_PLACE = "bin|boot|data|dev|etc|lib|lib32|lib64|libx32|proc|run/secrets|sbin|sys|usr"
_PLACE = rf"/(?!({_NO_PLACE})(/|$))[A-Za-z0-9_@.+/-]{{1,200}}"
"""Where an image may declare a volume: not where programs are."""
_TMPFS = r"rw,(noexec|exec),nosuid,nodev,size=\d{1,4}m(,mode=[0-7]{4})?(,uid=\d{1,10},gid=\d{1,10})?"

TEXTS = items(anything(1 << 20), most=1000)
LABELS = mapping(r"berth\.[a-z.]{1,60}", anything(4096), most=30)
"""No other labels, because programs on the host may act on labels of their own."""
_ULIMIT = {
    "Name": exactly("core", "memlock", "msgqueue", "nofile", "sigpending"),
    "Soft": whole(0, 1 << 20),
    "Hard": whole(0, 1 << 20),
}


def restarts(*policies: str) -> Check:
    """Returns a check for the restart policy."""
    shape = {"Name": exactly(*policies), "MaximumRetryCount": exactly(0)}
    return fields(shape, required=("Name",))


LIMITS: Mapping[str, Check] = {
    "Memory": whole(1 << 20, MOST),
    "MemorySwap": whole(1 << 20, MOST),
    "NanoCpus": whole(1, MOST),
    "PidsLimit": whole(1, 1 << 22),
    "OomKillDisable": OFF,
    "ShmSize": whole(0, 1 << 24),
    "Ulimits": items(fields(_ULIMIT, required=tuple(_ULIMIT)), most=5),
    "LogConfig": fields(
        {
            "Type": exactly("local", "none"),
            "Config": mapping(r"max-size|max-file|mode|max-buffer-size", text(r"[a-z0-9-]{1,20}"), most=4),
        }
    ),
}
LIMITED = ("Memory", "MemorySwap", "PidsLimit")
CONFINED: Mapping[str, Check] = {
    "Privileged": OFF,
    "ReadonlyRootfs": ON,
    "CapAdd": exactly([]),
    "CapDrop": exactly(["ALL"]),
    "IpcMode": exactly("private"),
    "PidMode": exactly(""),
    "UTSMode": exactly(""),
    "UsernsMode": exactly(""),
    "Devices": exactly([]),
    "Binds": exactly([]),
    "PortBindings": exactly({}),
    "PublishAllPorts": OFF,
    "Tmpfs": mapping(rf"/(tmp|run|run/agent|run/gateway|data|dev/shm)|{_PLACE}", text(_TMPFS), most=16),
    "Init": ANY_FLAG,
    "RestartPolicy": restarts("no", "unless-stopped"),
    "Dns": items(text(r"[0-9A-Fa-f:.]{2,45}"), most=10),
    "DnsOptions": items(exactly("timeout:1", "attempts:1"), most=2),
}
_ADDRESS = fields({"IPAMConfig": fields({"IPv4Address": address})})
_OF_ALL: Mapping[str, Check] = {
    "Image": text(_IMAGE),
    "Cmd": TEXTS,
    "Env": TEXTS,
    "Labels": LABELS,
    "StopSignal": exactly("SIGTERM"),
    "StopTimeout": whole(0, 3600),
    "Tty": OFF,
    "OpenStdin": OFF,
    "NetworkDisabled": ANY_FLAG,
    "Healthcheck": fields({"Test": exactly(["NONE"]), "Interval": whole(0, MOST)}),
    "NetworkingConfig": fields({"EndpointsConfig": mapping(r"[A-Za-z0-9-]{1,128}", _ADDRESS, most=1)}),
}


def container(
    host: Mapping[str, Check], top: Mapping[str, Check], *, required: tuple[str, ...], also: tuple[str, ...] = ()
) -> Check:
    """Returns a check for a body with these fields in its HostConfig, and `top` fields in addition to the common ones.

    The `required` fields of the HostConfig and the `also` fields of the body must be present.
    """
    return fields(
        {**_OF_ALL, "HostConfig": fields(host, required=required), **top},
        required=("Image", "User", "Labels", "HostConfig", *also),
    )


def unprivileged(value: object) -> str | None:
    """Accepts a user that is not root, with the group of the same number."""
    user, _, group = value.partition(":") if isinstance(value, str) else ("", "", "")
    return None if re.fullmatch(r"[1-9]\d{0,9}", user, re.ASCII) and user == group else ""


def published(value: object) -> str | None:
    """Accepts the gateway's port at an address of the host that the internet cannot reach."""
    shape = {"HostIp": anything(15), "HostPort": exactly(str(GATEWAY_PORT))}
    wrong = fields(shape, required=tuple(shape))(value)
    if wrong is not None or not isinstance(value, dict):
        return wrong
    try:
        address = ipaddress.IPv4Address(value["HostIp"])
    except ValueError:
        return ".HostIp"
    return None if address.is_private and not (address.is_loopback or address.is_unspecified) else ".HostIp"
