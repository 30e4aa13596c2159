"""A tiny image (2 MB, busybox) whose single program behaves as its environment says; built without a registry."""

import docker

from tests.busybox import pack_root

REPOSITORY = "berth-test/busybox"
_APPLETS = (
    "sh", "cat", "chmod", "chown", "cp", "dd", "dmesg", "echo", "find", "id", "ls", "nc", "seq", "sleep", "stat",
    "test", "touch", "tr", "true", "du", "head", "wc", "rm", "timeout", "tar", "mv",
)  # fmt: skip

SCRIPT = r"""#!/bin/sh
say() { echo "AGENT-STATUS {\"v\":1,\"state\":\"$1\",\"code\":\"$2\",\"detail\":\"\"}"; }
wait_for_ever() { while :; do sleep 1000 & wait $!; done; }
case "$MODE" in
  deaf)    trap '' TERM; say running; while :; do sleep 1; done ;;
  crash)   say failed crash; exit 3 ;;
  oom)     say running; exec dd if=/dev/zero of=/dev/null bs=200M count=1 ;;
  chatty)  trap 'exit 0' TERM; for n in $(seq 1 100); do echo "line $n"; done; echo "oops" >&2; wait_for_ever ;;
  listening) trap 'exit 0' TERM; nc -ll -p 8181 -e echo hello & wait_for_ever ;;
  changing) trap 'exit 0' TERM; touch /tmp/well; n=0
           while :; do
             test -e /tmp/now && { rm /tmp/now; n=$((n+1)); test $((n%2)) = 1 && say degraded x || say running; }
             sleep 0.1
           done ;;
  noisy)   trap 'exit 0' TERM; while :; do echo "a line that nobody needs, again and again and again"; done ;;
  silent)  trap 'exit 0' TERM; wait_for_ever ;;
  moody)   trap 'exit 0' TERM
           test -e /data/been && say degraded provider_key || say running; touch /data/been; wait_for_ever ;;
  long)    trap 'exit 0' TERM; dd if=/dev/zero bs=1000 count=40 2>/dev/null | tr '\0' x; echo; echo end
           wait_for_ever ;;
  *)       trap 'say stopped; exit 0' TERM; say running; wait_for_ever ;;
esac
"""

PROBE = r"""#!/bin/sh
test -e /tmp/well || { echo '{"v":1,"state":"starting","code":"","detail":"warming up"}'; exit 1; }
echo '{"v":1,"state":"running"}'
"""


def make_images(client: docker.APIClient, tag: str) -> tuple[str, str]:
    """Imports two images; the second one has a health check, which succeeds once /tmp/well exists."""
    commands = ['CMD ["/agent"]', "ENV PATH=/bin"]
    probe = "HEALTHCHECK --interval=500ms --timeout=5s --retries=2 CMD /probe"
    for suffix, changes in (("", commands), ("-probed", [*commands, probe])):
        client.import_image_from_data(
            pack_root({"agent": SCRIPT, "probe": PROBE}, applets=_APPLETS),
            repository=REPOSITORY,
            tag=f"{tag}{suffix}",
            changes=changes,
        )
    return f"{REPOSITORY}:{tag}", f"{REPOSITORY}:{tag}-probed"
