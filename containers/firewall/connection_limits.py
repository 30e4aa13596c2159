"""Limits how many connections and questions an agent may have, so that no agent fills what the machine shares.

The kernel remembers each connection in a table that the whole machine shares, and Docker's resolver answers each
question in the engine's own process.
"""

_BITS = {4: 32, 6: 128}

CONNECTIONS = 256
"""The most connections that an agent may have at a time."""

CONNECTIONS_RATE, CONNECTIONS_BURST = "10/sec", 300
"""The rate at which an agent may open connections. The kernel remembers one for up to two minutes after its end, so
that one agent fills at most 1,500 of the table's entries (65,536 or more)."""

QUERIES_RATE, QUERIES_BURST = "20/sec", 100
"""The rate of an agent's questions to name servers, its own or those that Docker's resolver passes on for it."""

_REMEMBERED = 60_000
"""Milliseconds without a packet after which the kernel forgets a count, and the agent has its full burst again. The
default is one second; this is longer than the longest burst takes to recover. The kernel keeps the setting of the first
rule with a name, so that another figure needs new names."""


def limit_rules(version: int, bridge: str, refused: str) -> list[str]:
    """Returns the limits. Each agent has one address, and each address is counted separately.

    The kernel keeps the count of connections with its rule: a rule that is set again begins with none. Excess packets
    are dropped silently, because a program that is notified would try again at once.
    """
    begins = "-m conntrack --ctstate NEW"
    held = f"-m connlimit --connlimit-above {CONNECTIONS} --connlimit-mask {_BITS[version]} --connlimit-saddr"
    return [
        f"-p udp -m udp --dport 53 {_above(QUERIES_RATE, QUERIES_BURST, f'{bridge}-asks')} -j DROP",
        f"{begins} {_above(CONNECTIONS_RATE, CONNECTIONS_BURST, f'{bridge}-begins')} -j DROP",
        f"{begins} {held} -j {refused}",
    ]


def _above(rate: str, burst: int, name: str) -> str:
    limit = f"-m hashlimit --hashlimit-above {rate} --hashlimit-burst {burst} --hashlimit-mode srcip"
    return f"{limit} --hashlimit-name {name} --hashlimit-htable-expire {_REMEMBERED}"
