"""For suites on a real engine that are about something else: the gateway is one more container and network for each
installation, which takes seconds to make and to remove. What agents do behind it is tested in `tests/gateway`, and the
way that users take, with the gateway, in `tests/e2e`.
"""

WITHOUT_GATEWAY = {"BERTH_GATEWAY": "off"}
"""Of the environment of a server."""
