"""Every path of the engine's API, as Docker documents it (1.41 to 1.52), except the plugins' own."""

CONTAINER = "json top logs changes export stats archive attach attach/ws wait"
ACTS = "start stop restart kill update rename pause unpause attach wait resize exec prune"

PATHS = [
    "/auth", "/info", "/version", "/_ping", "/events", "/system/df", "/session", "/grpc", "/commit", "/build",
    "/build/prune", "/build/cancel", "/distribution/alpine/json",
    "/containers/json", "/containers/create", "/containers/prune", "/containers/x",
    *(f"/containers/x/{word}" for word in sorted({*CONTAINER.split(), *ACTS.split(), "checkpoints", "copy"})),
    "/containers/x/checkpoints/y", "/exec/x/start", "/exec/x/json", "/exec/x/resize",
    "/images/json", "/images/create", "/images/load", "/images/get", "/images/search", "/images/prune", "/images/x",
    *(f"/images/a/b:c/{word}" for word in ("json", "history", "push", "tag", "get", "attestations")),
    "/networks", "/networks/create", "/networks/prune", "/networks/x", "/networks/x/connect", "/networks/x/disconnect",
    "/volumes", "/volumes/create", "/volumes/prune", "/volumes/x",
    "/swarm", *(f"/swarm/{word}" for word in ("init", "join", "leave", "update", "unlockkey", "unlock")),
    "/nodes", "/nodes/x", "/nodes/x/update", "/tasks", "/tasks/x", "/tasks/x/logs",
    *(f"/{kind}{end}" for kind in ("services", "secrets", "configs") for end in ("", "/create", "/x", "/x/update")),
    "/services/x/logs",
    "/plugins", "/plugins/privileges", "/plugins/pull", "/plugins/create", "/plugins/x", "/plugins/x/json",
    *(f"/plugins/x/{word}" for word in ("enable", "disable", "push", "set", "upgrade")),
    "/debug/vars", "/debug/pprof/", "/debug/pprof/heap", "/metrics",
]  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
