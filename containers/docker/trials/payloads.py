"""The two containers of a trial: the servers and the agent. The functions are pure: equal arguments, equal payloads."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from containers import trial_servers
from containers.agent_contract import DATA_PATH, SECRETS_PATH
from containers.hardening import NEVER_BY_ENGINE, NO_TERMINAL, confinement, container_payload, limits
from containers.vocabulary import ContainerSpec

_MODULES = ("constants", "bot_api", "provider", "server")
"""The modules of `containers.trial_servers`, each after the ones that it imports."""

_LOADER = """\
import json, sys, types
for name, text in json.loads(sys.argv.pop(1)):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
module.main()
"""
_NOBODY = 65534
_SERVERS_MEMORY = 128 * 1024 * 1024
_CHECK_EVERY = 1_000_000_000
"""Nanoseconds between health checks, because images' own intervals may be longer than a trial."""


def servers_payload(spec: ContainerSpec, *, image: str, token: str, key: str) -> dict[str, Any]:
    """Returns the body of POST /containers/create for the servers. Their only network is their own loopback."""
    return {
        "Image": image,
        "User": f"{_NOBODY}:{_NOBODY}",
        "Entrypoint": ["python3", "-I", "-c", _LOADER],
        "Cmd": [_program(), token, key],
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": dict(spec.labels),
        **NO_TERMINAL,
        "HostConfig": {
            **confinement(_NOBODY),
            **limits(spec),
            "Memory": _SERVERS_MEMORY,
            "MemorySwap": _SERVERS_MEMORY,
            "PidsLimit": 64,
            "NetworkMode": "none",
            "RestartPolicy": {"Name": NEVER_BY_ENGINE, "MaximumRetryCount": 0},
        },
    }


def agent_payload(spec: ContainerSpec, *, servers: str, places: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the body for the agent, confined like any agent, on the servers' network, which is only a loopback.

    Its state is in memory, from which it can run programs as from a volume, and is lost with the container. So is the
    volume of its credentials. `places`: see `container_payload`.
    """
    payload = container_payload(spec, network=f"container:{servers}", restart_policy=NEVER_BY_ENGINE, places=places)
    host: dict[str, Any] = payload["HostConfig"]
    host["Tmpfs"] |= {DATA_PATH: f"rw,exec,nosuid,nodev,size=64m,mode=0700,uid={spec.user},gid={spec.user}"}
    host["Mounts"] = [{"Type": "volume", "Target": SECRETS_PATH, "VolumeOptions": {"NoCopy": True}}]
    return payload | {"Labels": dict(spec.labels), "Healthcheck": {"Interval": _CHECK_EVERY}, "HostConfig": host}


def _program() -> str:
    package = trial_servers.__name__
    sources = [(f"{package}.{name}", (files(trial_servers) / f"{name}.py").read_text()) for name in _MODULES]
    return json.dumps([(package.partition(".")[0], ""), (package, ""), *sources])
