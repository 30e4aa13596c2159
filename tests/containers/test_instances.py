"""The next run removes what tests of a killed process left on the engine, and nothing else."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from containers.programs import is_root
from containers.vocabulary import INSTANCE_LABEL
from containers.volume_containers import HANDOVER_LABEL
from tests import instances
from tests.engines import connect, instance_of_helper, names_of_images
from tests.forgotten_bridges import dead_rules, forgotten_bridges
from tests.leftovers import remove_from_engine

BRIDGES = b"\0berth-0123abcd\0{'name': 'btry-00ff00ff'}\0berth-0123abcd\0berth-harbour"

ENGINE = "an engine"
SOMEBODY = """
import sys
from pathlib import Path
from tests.instances import _note

_note(Path(sys.argv[1]), *sys.argv[2:])
"""


def note_of_somebody_who_ended(notes: Path, name: str, engine: str = ENGINE) -> None:
    subprocess.run([sys.executable, "-c", SOMEBODY, str(notes), name, engine], check=True, timeout=100)


class NothingThere:
    """An engine without any objects."""

    def containers(self, **_: Any) -> list[Any]:
        return []

    networks = containers

    images = containers

    def volumes(self) -> dict[str, None]:
        return {"Volumes": None}


def left(notes: Path, engine: str = ENGINE) -> list[str]:
    return instances.take_away_what_is_left(NothingThere(), notes, engine)


def test_a_note_counts_while_its_process_lives(tmp_path: Path) -> None:
    instances._note(tmp_path, "mine", ENGINE)
    note_of_somebody_who_ended(tmp_path, "theirs")
    assert left(tmp_path, "another engine") == []
    assert left(tmp_path) == ["theirs"]
    assert left(tmp_path) == []
    assert json.loads((tmp_path / "mine").read_text())["engine"] == ENGINE


@pytest.mark.parametrize(
    ("change", "is_left"),
    [
        ({"began": "1"}, True),  # another process has its id now
        ({"boot": "another"}, True),
        ({"pids": "pid:[1]"}, False),  # in a container, whose process ids mean nothing here
        ({"pids": "pid:[1]", "boot": "another"}, True),
        ({"engine": "another"}, False),
    ],
)
def test_a_note_belongs_to_one_process_of_one_machine(tmp_path: Path, change: dict[str, str], is_left: bool) -> None:
    instances._note(tmp_path, "x", ENGINE)
    note = tmp_path / "x"
    note.write_text(json.dumps(json.loads(note.read_text()) | change))
    assert left(tmp_path) == ["x"][: int(is_left)]
    (tmp_path / "half written").write_text('{"engine": "')
    assert left(tmp_path) == []


def test_the_bridges_of_an_own_engine_are_known_after_its_end(tmp_path: Path) -> None:
    assert forgotten_bridges(tmp_path) == []
    (tmp_path / "network/files").mkdir(parents=True)
    (tmp_path / "network/files/local-kv.db").write_bytes(BRIDGES)
    assert forgotten_bridges(tmp_path) == ["berth-0123abcd", "btry-00ff00ff"]


def test_only_rules_of_missing_bridges_are_removed() -> None:
    """A rule of address translation would give agents of a later network the address of this host."""
    dead = "-s 172.20.8.0/29 ! -o bexit-b6b9e81e -j MASQUERADE"
    living = "-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE\n-A DOCKER -i berth-00000001 -j RETURN"
    saved = f"*nat\n:DOCKER - [0:0]\n-A POSTROUTING {dead}\n{living}\n*filter\n-A FORWARD -i berth-00000002 -j DROP"
    assert list(dead_rules(saved, living={"docker0", "berth-00000001"})) == [
        ["-w", "-t", "nat", "-D", "POSTROUTING", *dead.split()],
        ["-w", "-t", "filter", "-D", "FORWARD", "-i", "berth-00000002", "-j", "DROP"],
    ]


@pytest.mark.parametrize(
    ("label", "instance"),
    [
        ("chaos-1-image:memory", "chaos-1"),
        (f"t-image-1-{'0' * 20}:memory", "t-image-1"),
        (f"t-1-{'a' * 20}:10002", "t-1"),
        ("", ""),
        ("t-1:memory", ""),
        ("t-1-image", ""),
    ],
)
def test_what_a_killed_process_has_left_names_its_instance(label: str, instance: str) -> None:
    assert instance_of_helper({HANDOVER_LABEL: label}) == instance
    assert instance_of_helper(None) == ""


@pytest.fixture
def network() -> Iterator[Any]:
    """Creates networks of instances, whose bridges have firewall rules."""
    client, made = connect(), []

    def make(instance: str) -> str:
        bridge = f"berth-{uuid4().hex[:8]}"
        options = {"com.docker.network.bridge.name": bridge}
        client.import_image_from_data(b"\0" * 1024, repository=f"berth-test/left-{instance}")
        client.create_network(instance, options=options, labels={INSTANCE_LABEL: instance}, internal=True)
        made.append(instance)
        run_iptables("-N", f"{bridge.upper()}-HOST")
        return f"{bridge.upper()}-HOST"

    yield make
    for instance in made:
        remove_from_engine(instance)
    client.close()


def run_iptables(*words: str) -> str:
    return subprocess.run(["iptables", "-w", *words], check=True, capture_output=True, text=True).stdout


@pytest.mark.docker
@pytest.mark.skipif(not is_root(), reason="Only root may set firewall rules.")
def test_only_its_own_networks_rules_and_images_are_removed_with_an_instance(tmp_path: Path, network: Any) -> None:
    mine, theirs, nobodys = (f"{whose}-{uuid4().hex[:8]}" for whose in ("mine", "theirs", "nobodys"))
    chains = {name: network(name) for name in (mine, theirs, nobodys)}
    instances._note(tmp_path, mine, ENGINE)
    note_of_somebody_who_ended(tmp_path, theirs)
    client = connect()
    try:
        assert instances.take_away_what_is_left(client, tmp_path, ENGINE) == [theirs]
        assert {each["Name"] for each in client.networks()} & set(chains) == {mine, nobodys}
        images = names_of_images(client)
        assert [name for name in chains if any(name in image for image in images)] == [mine, nobodys]
    finally:
        client.close()
    there = run_iptables("-S")
    assert [name for name, chain in chains.items() if f"-N {chain}\n" in there] == [mine, nobodys]
