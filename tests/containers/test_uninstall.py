"""`manage.py uninstall` removes what belongs to this installation, announces it first, and touches nothing else."""

import os
import socket
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from accounts import clock
from containers.docker import removal
from containers.docker_api.client import Connection
from containers.docker_api.usable_images import look_labels
from containers.firewall.bridge import bridges_with_rules
from containers.firewall.iptables import can_set_rules, rules_for
from containers.firewall.rules import PROGRAMS
from containers.firewall.script import as_removal
from containers.identity import container_name, own_labels
from containers.vocabulary import INSTALLATION_LABEL, INSTANCE_LABEL
from containers.volume_containers import carrier_names, carrier_payload, look_payload
from projects.models import Watch
from projects.models.installation import read_installation
from projects.models.processes.holder import name_process
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path) -> Path:
    """A data directory with Berth's files and a foreign one, and a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings.BERTH_HOST, settings.BERTH_PORT = free.getsockname()
    settings.BERTH_DATA_DIR = tmp_path
    settings.BERTH_INSTALLATION_SOURCE = "projects.models.installation.read_installation_id"
    for name in ("berth.sqlite3", "berth.sqlite3-wal", "token_key.key", "static.digest", "notes.txt"):
        (tmp_path / name).touch()
    for name in ("static", "backups"):
        (tmp_path / name).mkdir()
    read_installation()
    return tmp_path


@pytest.fixture
def own_network(docker_under_test: DockerUnderTest) -> Iterator[None]:
    """An installation with a network of its own, because the network of other tests has another id."""
    with override_settings(BERTH_CONTAINER_NETWORK=f"{django_settings.BERTH_INSTANCE}-{uuid4().hex[:8]}"):
        yield


def uninstall(*options: str) -> str:
    said = StringIO()
    call_command("uninstall", *options, stdout=said)
    return said.getvalue()


def names(client: Any) -> set[str]:
    containers = {row["Names"][0].lstrip("/") for row in client.containers(all=True)}
    volumes = {row["Name"] for row in client.volumes()["Volumes"] or []}
    return containers | volumes | {row["Name"] for row in client.networks()}


def rules() -> str:
    listings = [[program, "-w", "-t", table, "-S"] for program in PROGRAMS.values() for table in ("filter", "raw")]
    return "".join(subprocess.run(each, capture_output=True, check=True, text=True).stdout for each in listings)


@pytest.mark.docker
@pytest.mark.usefixtures("own_network")
def test_uninstall_removes_only_berth_s_objects(docker_under_test: DockerUnderTest) -> None:
    client, name = docker_under_test.client, docker_under_test.name
    deploy(docker_under_test)
    assert not removal.remove_image(Connection(), docker_under_test.image), "A container was made from it."
    foreign = {
        f"{name}-of-another-installation": {**own_labels(), INSTALLATION_LABEL: "f" * 32},
        f"{name}-of-another-instance": {**own_labels(), INSTANCE_LABEL: "another"},
        f"{name}-of-somebody": {},
    }
    for each, labels in foreign.items():
        client.create_container(docker_under_test.image, name=each, labels=labels)
        client.create_volume(f"{each}-data", labels=labels)
    kept = set(foreign) | {f"{each}-data" for each in foreign}
    try:
        ours = {*removal.find_belongings(Connection()).containers, *removal.find_belongings(Connection()).volumes}
        assert name in ours
        told = uninstall("--dry-run", "--volumes")
        assert all(f"\n  {each}\n" in told for each in ours)
        assert not any(each in told for each in kept)
        assert ours | kept <= names(client)
        uninstall("--yes")
        found = removal.find_belongings(Connection())
        assert not found.containers | found.networks
        assert f"{name}-data" in found.volumes
        if can_set_rules():
            assert not any(bridge.upper() in rules() for bridge in bridges_with_rules())
        uninstall("--yes", "--volumes")
        assert not ours & names(client)
        assert kept <= names(client)
        assert "Berth has been removed" in uninstall("--yes", "--volumes")
    finally:
        for each in foreign:
            client.remove_container(each, force=True)
            client.remove_volume(f"{each}-data")


@pytest.mark.docker
@pytest.mark.usefixtures("own_network")
def test_uninstall_removes_what_killed_processes_have_left(docker_under_test: DockerUnderTest) -> None:
    """What had an agent's volume kept it in use, so that no `uninstall --volumes` ever came to its end."""
    client, image, name = docker_under_test.client, docker_under_test.image, docker_under_test.name
    other, theirs = container_name(str(uuid4())), {**look_labels(), INSTALLATION_LABEL: "f" * 32}
    deploy(docker_under_test)
    payloads = {
        f"{name}-look": look_payload(image=image, labels=look_labels(), places=()),
        **{each: carrier_payload(name, image=image, volume=f"{name}-data") for each in carrier_names(name)},
        f"{name}-theirs": look_payload(image=image, labels=theirs, places=()),
        other: carrier_payload(other, image=image, volume=f"{other}-data"),
    }
    try:
        for own, payload in payloads.items():
            with Connection().call() as calls:
                calls.create_container_from_config(payload, own)
        assert "Berth has been removed" in uninstall("--yes", "--volumes")
        assert {*payloads, name, f"{name}-data"} & names(client) == {other, f"{name}-theirs"}
    finally:
        for own in payloads.keys() & names(client):
            client.remove_container(own, force=True)
        client.remove_volume(f"{other}-data")


@pytest.mark.docker
def test_uninstall_removes_berth_s_files_but_no_backups(docker_under_test: DockerUnderTest, data: Path) -> None:
    assert str(data / "token_key.key") in uninstall("--dry-run", "--data")
    assert len(list(data.iterdir())) == 7
    said = uninstall("--yes", "--data")
    assert sorted(path.name for path in data.iterdir()) == ["backups", "notes.txt"]
    assert f"These are kept in {data}: backups, notes.txt." in said


@pytest.mark.docker
@pytest.mark.usefixtures("own_network")
def test_uninstall_asks_before_it_does_anything(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(docker_under_test)
    for answer in ("", "y", "no"):
        monkeypatch.setattr("builtins.input", lambda _, said=answer: said)
        with pytest.raises(CommandError, match="Nothing was done"):
            uninstall("--volumes")
    assert docker_under_test.is_running(docker_under_test.name)


@pytest.mark.parametrize("option", ["--volums", "--dry", "--ye", "--vol"])
def test_options_cannot_be_abbreviated(option: str) -> None:
    with pytest.raises(CommandError, match="unrecognized"):
        uninstall(option)


def test_uninstall_refuses_while_berth_runs() -> None:
    with socket.socket() as server:
        server.bind((django_settings.BERTH_HOST, django_settings.BERTH_PORT))
        server.listen()
        with pytest.raises(CommandError, match="Stop Berth first"):
            uninstall("--yes")
    soon = clock.now() + timedelta(seconds=5)
    Watch.objects.create(instance=django_settings.BERTH_INSTANCE, lease_until=soon)
    elsewhere = r"process 17 on another machine, or in another container"
    named = {name_process(): f"process {os.getpid()}", "boot/4026531836 17": elsewhere, "host-17": "process host-17"}
    for holder, process in named.items():
        Watch.objects.update(holder=holder)
        with pytest.raises(CommandError, match=rf"still runs \({process}\)"):
            uninstall("--yes")


def test_without_a_database_uninstall_removes_nothing_from_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.db.connection.introspection.table_names", list)
    with pytest.raises(CommandError, match="There is no database"):
        uninstall("--yes")


def test_the_script_removes_each_rule() -> None:
    """For an engine on whose host this process sets no rules itself."""
    for family in rules_for("br-x", resolvers=[]):
        script = as_removal([family])
        for hook in family.hooks:
            for parent in hook.parents:
                assert f"{family.program} -w -D {parent} {hook.rule} " in script
        assert all(f"-X {chain} " in script for chain in family.chains)
    assert subprocess.run(["/bin/sh", "-n"], input=script, text=True, check=False).returncode == 0
