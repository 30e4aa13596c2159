"""Counts the bytes that an agent has sent and received, at the node's end of the wire to its container.

The gateway shares the network of its node. The kernel's neighbour table has the hardware address of each agent that
speaks with the gateway, and the bridge knows which of its wires leads there.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

NEIGHBOURS = Path("/proc/net/arp")
INTERFACES = Path("/sys/class/net")

_ROW = struct.Struct("=6sBBIBBH")
"""`struct __fdb_entry` of linux/if_bridge.h: hardware address, lower byte of the port, whether the address is the
bridge's own, age, upper byte of the port, two fillers."""


def read_network_counters(
    address: str, *, neighbours: Path = NEIGHBOURS, interfaces: Path = INTERFACES
) -> dict[str, dict[str, int]] | None:
    """Returns the counts in the engine's words, or None if the wire of the agent with this address is not known."""
    try:
        bridge, hardware = _find_neighbour(neighbours, address)
        port = _find_port(interfaces / bridge / "brforward", hardware)
        wire = next(each for each in (interfaces / bridge / "brif").iterdir() if _number(each / "port_no", 16) == port)
        counted = interfaces / wire.name / "statistics"
        # What the node receives on its end is what the agent has sent.
        read = {"rx_bytes": _number(counted / "tx_bytes"), "tx_bytes": _number(counted / "rx_bytes")}
    except (OSError, StopIteration, ValueError):
        return None
    return {"eth0": read}


def _find_neighbour(neighbours: Path, address: str) -> tuple[str, bytes]:
    """Returns the interface and the hardware address. Raises OSError, StopIteration, ValueError."""
    rows = (line.split() for line in neighbours.read_text().splitlines()[1:])
    row = next(row for row in rows if row[0] == address)
    return row[5], bytes.fromhex(row[3].replace(":", ""))


def _find_port(table: Path, hardware: bytes) -> int:
    return next(port for found, port in _read_ports(table) if found == hardware)


def _read_ports(table: Path) -> Iterator[tuple[bytes, int]]:
    content = table.read_bytes()
    for found, low, is_own, _, high, _, _ in _ROW.iter_unpack(content[: len(content) // _ROW.size * _ROW.size]):
        if not is_own:
            yield found, high << 8 | low


def _number(file: Path, base: int = 10) -> int:
    return int(file.read_text(), base)
