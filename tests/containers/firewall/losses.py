"""Shell scripts after which our rules have lost their effect, and some after which they have not."""

from tests.containers.firewall.router import PORT

PRIVATE, PRIVATE_6 = "10.1.2.3", "fd00::5"


DOCKER = """
iptables -w -N DOCKER-USER
iptables -w -A DOCKER-USER -j RETURN
iptables -w -A FORWARD -j DOCKER-USER
iptables -w -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
iptables -w -A FORWARD -o {bridge} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
iptables -w -A FORWARD -i {bridge} ! -o {bridge} -j ACCEPT
iptables -w -P FORWARD DROP
"""
"""The chains as a Docker engine leaves them."""


CLEAN = """
for program in iptables ip6tables; do
  printf '*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT\nCOMMIT\n' | $program-restore -w
done
ip6tables -w -A FORWARD -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT
"""


KNOCK = f"""
import socket, sys
for address in sys.argv[1:]:
    try:
        socket.create_connection((address, {PORT}), 4).close()
    except OSError:
        continue
    print(address)
"""


RELOAD = """\
for table in raw mangle nat filter security; do
  $program -w -t $table -F 2>/dev/null || continue
  $program -w -t $table -X
done
$program -w -N FIREWALL-IN
$program -w -A FIREWALL-IN -m conntrack --ctstate NEW,ESTABLISHED,RELATED -j ACCEPT
$program -w -A FORWARD -j FIREWALL-IN
$program -w -A INPUT -j FIREWALL-IN
$program -w -P FORWARD ACCEPT
"""


BEHIND = "$program -w -D {parent} {rule} || :; $program -w -A {parent} -j ACCEPT; $program -w -A {parent} {rule}"
"""Our jump is behind an exception."""


LOSSES = {
    "FORWARD is flushed": "$program -w -F FORWARD; $program -w -P FORWARD ACCEPT",
    "FORWARD is flushed, and all is let through": "$program -w -F FORWARD; $program -w -A FORWARD -j ACCEPT",
    "DOCKER-USER is flushed": "$program -w -F DOCKER-USER || $program -w -F FORWARD; $program -w -P FORWARD ACCEPT",
    "everything is flushed": "$program -w -F; $program -w -P FORWARD ACCEPT",
    "everything is flushed and removed": "$program -w -F; $program -w -X; $program -w -P FORWARD ACCEPT",
    "our chains are flushed": "for chain in {chains}; do $program -w -F $chain; done; $program -w -P FORWARD ACCEPT",
    "one rule of ours is gone": "$program -w -D {forwarded} -d {network} -j {refused}; $program -w -P FORWARD ACCEPT",
    "our jump is gone": "$program -w -D {parent} {rule}; $program -w -P FORWARD ACCEPT",
    "our jump is behind an exception": BEHIND,
    "an exception comes first": "$program -w -I FORWARD 1 -j ACCEPT",
    "an exception for our bridge comes first": "$program -w -I FORWARD 1 -i {bridge} -j ACCEPT",
    "an exception for all bridges comes first": "$program -w -I FORWARD 1 -i berth-+ -j ACCEPT",
    "an exception for connections comes first": "$program -w -I FORWARD 1 -m conntrack --ctstate NEW,ESTABLISHED "
    "-j ACCEPT",
    "another chain lets through": "$program -w -N THEIRS; $program -w -A THEIRS -j ACCEPT; "
    "$program -w -I FORWARD 1 -j THEIRS",
    "another chain returns too early": "$program -w -I {parent} 1 -j RETURN; $program -w -P FORWARD ACCEPT; "
    "$program -w -I FORWARD 2 -j ACCEPT",
    "another chain is gone to": "$program -w -N THEIRS; $program -w -I FORWARD 1 -g THEIRS; "
    "$program -w -P FORWARD ACCEPT",
    "everything is written anew": "printf '*filter\\n:INPUT ACCEPT\\n:FORWARD ACCEPT\\n:OUTPUT ACCEPT\\nCOMMIT\\n' | "
    "$program-restore -w",
    "another firewall is loaded": RELOAD,
}
"""Shell scripts for each program. After each of them the agent reaches private addresses."""


HARMLESS = {
    "nothing": ":",
    "raw is flushed": "$program -w -t raw -F",
    "the policy drops": "$program -w -P FORWARD DROP",
    "the policy accepts": "$program -w -P FORWARD ACCEPT",
    "something is logged first": "$program -w -I FORWARD 1 -m comment --comment 'a -j ACCEPT' -j MARK --set-mark 1",
    "an exception for another interface comes first": "$program -w -I FORWARD 1 -i eth7 -j ACCEPT",
    "everything is dropped first": "$program -w -I FORWARD 1 -j DROP",
}
