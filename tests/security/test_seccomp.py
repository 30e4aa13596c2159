"""The seccomp profile, tested from inside a container of the engine in use: every call that it must refuse."""

import json
import platform
from collections.abc import Iterator
from typing import Any

import pytest

from containers.hardening import SECCOMP_PROFILE
from tests.security.agents import Agents
from tests.security.inside.syscall_table import COLUMNS, LAST, numbers

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(platform.machine() not in COLUMNS, reason="the table lacks this machine's system calls"),
]
PROFILE: dict[str, Any] = json.loads(SECCOMP_PROFILE)
ALLOWED = {
    name
    for rule in PROFILE["syscalls"]
    if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
    for name in rule["names"]
}
BY_ARGUMENTS = {name for rule in PROFILE["syscalls"] if "args" in rule for name in rule["names"]}
MISSING = {name for rule in PROFILE["syscalls"] if "errnoRet" in rule for name in rule["names"]} - BY_ARGUMENTS
FAMILIES = {"1", "2", "10", "16"}  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
INTERNET, TYPES = {"2", "10"}, {"1", "2"}  # SOCK_STREAM and SOCK_DGRAM
VSOCK = "40"
NEWEST = 450
"""Numbers from here on came after Linux 5.16, the newest version that libraries of 2022 know."""

# A kernel that has these two answers them before it runs any filter. They only serve a probe that root has set.
BEFORE_ANY_FILTER = {"uretprobe", "uprobe"}

# Each group with the reason why no agent may make these calls. A new name needs a place here or in the profile.
MUST_BE_REFUSED = {
    "other namespaces": "setns unshare clone3",
    "mounts": "mount umount2 pivot_root chroot fsconfig fsmount fsopen fspick mount_setattr move_mount open_tree"
    " open_tree_attr statmount listmount",
    "the kernel's own code": "init_module finit_module delete_module create_module get_kernel_syms query_module"
    " kexec_load kexec_file_load bpf",
    "the machine": "reboot swapon swapoff sethostname setdomainname settimeofday clock_settime clock_adjtime adjtimex"
    " acct syslog quotactl quotactl_fd iopl ioperm vhangup sync syncfs _sysctl",
    "keys, which are no namespace's": "add_key keyctl request_key",
    "other processes": "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp move_pages migrate_pages",
    "watching the machine": "perf_event_open fanotify_init fanotify_mark lookup_dcookie",
    "past the paths of files": "open_by_handle_at name_to_handle_at file_getattr file_setattr",
    "often the way into a kernel": "userfaultfd modify_ldt vmsplice remap_file_pages memfd_secret"
    " io_uring_setup io_uring_enter io_uring_register",
    "a quota of the whole machine": "io_setup io_submit io_cancel io_destroy io_getevents io_pgetevents",
    "memory's places": "mbind get_mempolicy set_mempolicy set_mempolicy_home_node",
    "security modules": "lsm_get_self_attr lsm_set_self_attr lsm_list_modules",
    "obsolete": "uselib ustat sysfs nfsservctl getpmsg putpmsg afs_syscall tuxcall security vserver",
}
REFUSED_NAMES = {name for names in MUST_BE_REFUSED.values() for name in names.split()}


def calls_to_refuse() -> dict[str, int]:
    """Every number that the profile does not allow: the names above, and all numbers that no kernel has named yet."""
    known = numbers()
    named = {name: number for name, number in known.items() if name not in ALLOWED | BY_ARGUMENTS | BEFORE_ANY_FILTER}
    unnamed = {f"{number}": number for number in range(LAST) if number not in known.values()}
    return named | unnamed


CALLS = calls_to_refuse() if platform.machine() in COLUMNS else {}


@pytest.fixture(scope="module")
def agent(agents: Agents) -> Iterator[Any]:
    """The answers to an agent that the service's own engine has deployed."""
    deployed = agents.deploy("syscalls", environment={"CALLS": json.dumps(CALLS)}, nano_cpus=10**9)
    yield agents.found_by(deployed.name, seconds=180)
    agents.remove_all()


def run_with(agents: Agents, seccomp: str) -> Any:
    """The answers to the same program under another profile, as the same user and without capabilities."""
    name = agents.run_unconfined(
        "syscalls",
        environment={"CALLS": json.dumps(CALLS)},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", f"seccomp={seccomp}"],
    )
    return agents.found_by(name, seconds=180)


@pytest.fixture(scope="module")
def trapped(agents: Agents) -> Iterator[Any]:
    """The answers if the profile ends a process at a refused call, which shows that the profile refuses it."""
    yield run_with(agents, json.dumps(PROFILE | {"defaultAction": "SCMP_ACT_TRAP"}))
    agents.remove_all()


@pytest.fixture(scope="module")
def free(agents: Agents) -> Iterator[Any]:
    """The answers of the kernel itself."""
    yield run_with(agents, "unconfined")
    agents.remove_all()


def test_every_system_call_is_classified() -> None:
    """A call that a new kernel brings is allowed or refused on purpose."""
    for machine in COLUMNS:
        decided = ALLOWED | BY_ARGUMENTS | REFUSED_NAMES | BEFORE_ANY_FILTER
        assert set(numbers(machine)) - decided == set(), machine
    assert REFUSED_NAMES.isdisjoint(ALLOWED | BY_ARGUMENTS)
    assert {name.removesuffix("_time64") for name in MISSING} <= REFUSED_NAMES


def answers(found: Any, *path: str) -> dict[str, str]:
    """The answer to each call, from the calls by answer."""
    for step in path:
        found = found[step]
    return {name: answer for answer, names in found.items() for name in names.split(",")}


def refused(found: Any, *path: str) -> set[str]:
    """The calls that end a process under the profile that traps."""
    return {name for name, answer in answers(found, *path).items() if answer == "SIGSYS"}


@pytest.mark.parametrize("name", sorted(set(CALLS) & REFUSED_NAMES))
def test_an_agent_may_not_make_refused_calls(agent: Any, trapped: Any, name: str) -> None:
    # runc calls missing what is newer than its own list.
    newest = {"ENOSYS"} if CALLS[name] >= NEWEST else set()
    assert answers(agent, "calls")[name] in ({"ENOSYS"} if name in MISSING else {"EPERM"} | newest)
    assert answers(trapped, "calls")[name] in ({"ENOSYS"} if name in MISSING else {"SIGSYS"} | newest)


def test_numbers_without_a_name_are_refused_too(agent: Any) -> None:
    answered = answers(agent, "calls")
    assert answered.keys() == CALLS.keys()
    assert {answer for name, answer in answered.items() if name not in REFUSED_NAMES} <= {"EPERM", "ENOSYS"}


def test_without_the_profile_the_kernel_answers_differently(free: Any) -> None:
    """This shows that the profile is tested: without it vsock and io_uring are available."""
    reached = {name for name, answer in answers(free, "calls").items() if answer not in {"EPERM", "ENOSYS"}}
    assert reached >= {"ptrace", "keyctl", "process_vm_readv", "userfaultfd", "io_setup", "io_uring_setup", "clone3"}
    assert answers(free, "sockets", "families")[f"{VSOCK} 1"] == "done"
    assert answers(free, "sockets", "disguised")[VSOCK] == "done"
    assert free["clones"]["CLONE_NEWUSER"] == "done"


def test_a_socket_is_of_a_family_that_the_firewall_sees_or_of_this_container(agent: Any, trapped: Any) -> None:
    answered = answers(agent, "sockets", "families")
    strange = {name for name in answered if name.split()[0] not in FAMILIES}
    strange |= {name for name in answered if name.split()[0] in INTERNET and name.split()[1] not in TYPES}
    assert {"2 5", "2 6", "2 10", "10 5", "10 6", "10 10"} <= strange  # SCTP, DCCP and packets
    assert {answered[name] for name in strange} == {"EPERM"}
    assert refused(trapped, "sockets", "families") == strange
    assert {f"{VSOCK} {kind}" for kind in range(1, 6)} <= strange


def test_a_family_is_not_disguised_by_bits_that_the_kernel_does_not_read(agent: Any, trapped: Any) -> None:
    strange = answers(agent, "sockets", "disguised").keys() - FAMILIES
    assert refused(trapped, "sockets", "disguised") == strange
    assert {answers(agent, "sockets", "disguised")[family] for family in strange} == {"EPERM"}


def test_the_internet_is_tcp_udp_and_pings(agent: Any, trapped: Any) -> None:
    for version, pings in (("", "1"), ("6", "58")):
        for key, allowed in ((f"protocols{version}", {"0", "6"}), (f"datagrams{version}", {"0", "17", pings})):
            answered = answers(agent, "sockets", key)
            assert answered.keys() - refused(trapped, "sockets", key) == allowed
            assert {answered[number] for number in allowed - {pings}} == {"done"}
            assert answered["132"] == "EPERM"


def test_a_type_is_not_disguised_by_flags_or_bits_that_the_kernel_does_not_read(agent: Any, trapped: Any) -> None:
    answered = answers(agent, "sockets", "disguised types")
    assert refused(trapped, "sockets", "disguised types") == answered.keys() - TYPES
    assert {answered[kind] for kind in answered.keys() - TYPES} == {"EPERM"}
    assert {answered[kind] for kind in TYPES} == {"done"}


def test_netlink_is_for_routes_and_pairs_are_of_unix(agent: Any, trapped: Any) -> None:
    for key, allowed in (("netlink", "0"), ("pairs", "1")):
        answered = answers(agent, "sockets", key)
        assert answered.keys() - refused(trapped, "sockets", key) == {allowed}
        assert answered[allowed] in {"done", "EFAULT"}  # it has no place for a pair


@pytest.mark.parametrize("how", ["set", "set with the older call", "disguised"])
def test_an_agent_changes_every_limit_but_that_of_core_dumps(agent: Any, free: Any, how: str) -> None:
    answered = answers(agent, "limits", how)
    assert (answered.pop("4"), set(answered.values())) == ("ENOSYS", {"done"})  # RLIMIT_CORE
    assert set(answers(agent, "limits", "asked").values()) == set(answers(free, "limits", how).values()) == {"done"}


def test_no_clone_makes_a_namespace(agent: Any, trapped: Any) -> None:
    assert set(agent["clones"].values()) == {"EPERM"}
    assert set(trapped["clones"].values()) == {"SIGSYS"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines speak one language")
def test_calls_of_another_architecture_end_the_process(agent: Any) -> None:
    assert agent["other architectures"] == {"int 0x80": "SIGSYS", "x32": "SIGSYS"}
