"""Agents whose image declares volumes and ports, or has no directory where the volume of its memory belongs."""

import tarfile
from typing import Any

import pytest

from containers.errors import ImageUnusableError
from projects.models import AgentType, Event, Project
from projects.services.container_spec import labels_of
from projects.watcher.reconcile.full import reconcile
from tests.projects.hostile_images.conftest import Host, with_entry

pytestmark = [pytest.mark.docker, pytest.mark.one_database]


def refused(host: Host, image: str) -> str:
    """Why a deploy of the image is refused, and its trial. The engine then has no container of it."""
    answer = host.deploy(image)
    assert answer.status_code == 502, answer.content
    told = str(answer.json()["detail"])
    assert host.try_image(image) == {"starts, confined as agents are": told}
    assert not host.engine.client.containers(all=True, filters={"ancestor": image})
    return told


def volumes_of(host: Host, name: str) -> set[str]:
    """The volumes of the agent's container: of its memory and its credentials, and of nothing else."""
    mounts = host.engine.client.inspect_container(name)["Mounts"]
    found = {mount["Name"] for mount in mounts if mount["Type"] == "volume"}
    assert found == {f"{name}-data", f"{name}-secrets"}
    return found


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("kind", "link"),
    [
        *[
            (tarfile.SYMTYPE, link)
            for link in ("/tmp", "/run/agent", "/var/x", "../../etc", "data", "/proc", "/", "tmp")
        ],
        (tarfile.REGTYPE, ""),
        (tarfile.FIFOTYPE, ""),
        (tarfile.LNKTYPE, "bin/busybox"),
    ],
)
def test_a_memory_that_would_be_elsewhere_is_refused(host: Host, kind: bytes, link: str) -> None:
    told = refused(host, host.make(root=with_entry("data", kind, link)))
    assert told.startswith("In the image, /data is a link or a file")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", ["tmp", "run", "run/agent", "run/secrets"])
def test_no_other_mount_may_cover_the_memory(host: Host, path: str) -> None:
    told = refused(host, host.make(root=with_entry(path, tarfile.SYMTYPE, "/data")))
    assert told.startswith(f"In the image, /{path} is a link or a file")


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "path",
    ["/", "//", "/.", "/data/x", "/data/../data/x", "/tmp/../data/x", "run", "data", "./x", "/run/secrets/x", "/proc",
     "/dev", "/sys/x", "/etc", "/bin", "/usr/lib", "/a:ro", "/a,b", "/a b", "/" + "a" * 300, "/agent"],
)  # fmt: skip
def test_a_volume_that_no_agent_can_have_is_refused(host: Host, path: str) -> None:
    assert "Remove this VOLUME" in (told := refused(host, host.make('CMD ["/agent"]', f'VOLUME ["{path}"]'))) or (
        path == "/agent" and told.startswith("In the image, /agent")
    )


@pytest.mark.rare(2)
def test_many_volumes_are_refused(host: Host) -> None:
    volumes = ", ".join(f'"/v/{number}"' for number in range(9))
    assert "9 volumes" in refused(host, host.make('CMD ["/agent"]', f"VOLUME [{volumes}]"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ports", [["1-101/tcp"], ["1-65535/tcp", "1-65535/udp"]])
def test_many_ports_are_refused(host: Host, ports: list[str]) -> None:
    told = refused(host, host.make('CMD ["/agent"]', *(f"EXPOSE {each}" for each in ports)))
    assert told.startswith(f"The image declares {101 if len(ports) == 1 else 131_070:,} ports")


@pytest.mark.rare(2)
def test_labels_that_would_fill_every_list_are_refused(host: Host) -> None:
    assert "every list of containers" in refused(host, host.make('CMD ["/agent"]', f'LABEL a="{"x" * 20_000}"'))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("paths", "places"),
    [
        (["/data", "/data/", "/tmp/../data"], []),
        (["/tmp", "//tmp//"], []),
        (["/run"], ["/run"]),
        (["/run/agent", "/run/secrets/"], []),
        (["/home/agent", "/home/agent/", "/home//agent"], ["/home/agent"]),
        (["/home/agent", "/home/agent/deeper", "/var/lib/x.y"], ["/home/agent", "/home/agent/deeper", "/var/lib/x.y"]),
        (["/dev/shm"], ["/dev/shm"]),
    ],
    ids=lambda value: " ".join(value) or "none",
)
def test_other_volumes_are_memory_within_the_plan(host: Host, paths: list[str], places: list[str]) -> None:
    declared = ", ".join(f'"{path}"' for path in paths)
    image = host.make('CMD ["/agent"]', f"VOLUME [{declared}]")
    answer = host.deploy(image)
    assert answer.status_code == 201, answer.content
    name = host.name_of(answer.json()["id"])
    mounts: dict[str, Any] = host.engine.client.inspect_container(name)["HostConfig"]
    for place in places:
        assert "size=64m" in mounts["Tmpfs"][place]
        assert host.engine.run("sh", "-c", f"echo x >{place}/x", name=name)[0] == 0
    assert host.engine.run("sh", "-c", "echo kept >/data/note", name=name)[0] == 0
    volumes_of(host, name)
    for action in ("restart", "stop", "start"):
        assert host.api.post(f"/api/projects/{answer.json()['id']}/control", {"action": action}).status_code == 200
    volumes_of(host, name)
    assert host.engine.run("cat", "/data/note", name=name) == (0, "kept\n")
    verdicts = host.try_image(image)
    assert ("the image declares volumes" in verdicts.get("writes only to /data, /run/agent and /tmp", "")) == bool(
        places
    )
    assert host.api.delete(f"/api/projects/{answer.json()['id']}").status_code in {202, 204}
    assert not host.engine.volumes(name)
    assert not host.engine.client.containers(all=True, filters={"ancestor": image})


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", ["a link", "ports", "a volume inside"])
def test_an_update_to_such_an_image_keeps_the_agent_and_its_memory(host: Host, what: str) -> None:
    """What the image declares is known before the old one stops, and what its files are once it is to be deployed."""
    made = host.deploy(host.make()).json()["id"]
    name = host.name_of(made)
    assert host.engine.run("sh", "-c", "echo kept >/data/note", name=name)[0] == 0
    image = {
        "a link": lambda: host.make(root=with_entry("data", tarfile.SYMTYPE, "/tmp")),
        "ports": lambda: host.make('CMD ["/agent"]', "EXPOSE 1-1000/tcp"),
        "a volume inside": lambda: host.make('CMD ["/agent"]', "VOLUME /data/x"),
    }[what]()
    AgentType.objects.filter(pk="stub").update(image=image)
    answer = host.api.post(f"/api/projects/{made}/update")
    assert answer.status_code == (202 if what == "a link" else 502), answer.content
    for _ in range(4):
        reconcile()
    events = Event.objects.filter(project_id=made, action="new image").order_by("id")
    told = [(event.outcome, event.detail) for event in events]
    assert [outcome for outcome, _ in told] == (["recorded", "given up", "undone"] if what == "a link" else ["failed"])
    assert what != "a link" or "In the image, /data is a link" in told[1][1]
    host.await_running(made)
    assert host.engine.run("cat", "/data/note", name=name) == (0, "kept\n")


def test_no_memory_is_read_written_or_copied_through_such_an_image(host: Host) -> None:
    """A volume would be mounted elsewhere in the container through which it is read."""
    made = host.deploy(host.make()).json()["id"]
    project, engine = Project.objects.get(pk=made), host.engine.engine
    name, key = project.container_name, project.container_key
    assert host.engine.run("sh", "-c", "echo kept >/data/note", name=name)[0] == 0
    image = host.make(root=with_entry("data", tarfile.SYMTYPE, "/tmp"))
    labels = labels_of(project)
    with pytest.raises(ImageUnusableError):
        engine.keep_copy(key, image=image, labels=labels)
    engine.keep_copy(key, image=host.engine.image, labels=labels)
    with pytest.raises(ImageUnusableError):
        engine.return_copy(key, image=image)
    assert host.engine.run("cat", "/data/note", name=name) == (0, "kept\n")
    engine.remove(key)
    with pytest.raises(ImageUnusableError):
        list(engine.read_state(key, image=image))
    with pytest.raises(ImageUnusableError):
        engine.write_state("other", volume=f"{name}-other", labels=labels, image=image, pieces=[])
    assert b"kept" in b"".join(engine.read_state(key, image=host.engine.image))
    assert b"kept" in b"".join(engine.read_state(key, image=host.engine.image, of_copy=True))
    engine.drop_copy(key)
