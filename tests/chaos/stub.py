"""A tiny agent image (2 MB, busybox) that starts in an instant and misbehaves on command; built without a registry."""

import docker

from tests.busybox import pack_root

REPOSITORY = "berth-test/chaos"
STUB_PROJECT = {"name": "Stub", "type": "stub", "plan": "chaos", "apiKey": "sk-stub"}
"""A valid request for a project of the stub (see `tests.chaos.inside.prepare.add_offers`)."""

APPLETS = ("sh", "sleep", "echo", "cat", "dd", "test", "rm")

# Instructions are read from a file: one in /tmp is lost when the container restarts, one in /data is not.
SCRIPT = r"""#!/bin/sh
say() { echo "AGENT-STATUS {\"v\":1,\"state\":\"$1\",\"code\":\"$2\",\"detail\":\"\"}"; }
trap 'say stopped; exit 0' TERM
test "$AGENT_INSTRUCTIONS" = deaf && trap '' TERM
pause=0.2
test "$AGENT_INSTRUCTIONS" = calm && pause=1
test "$AGENT_INSTRUCTIONS" = sleepy && pause=5
say running
while :; do
  for wish in /tmp/do /data/do; do
    test -e $wish && case "$(cat $wish)" in
      exit0) exit 0 ;;
      exit1) say failed crash; exit 1 ;;
      exit20) say failed telegram_token; exit 20 ;;
      segfault) kill -SEGV $$ ;;
      degraded) rm $wish; say degraded provider_down ;;
      well) rm $wish; say running ;;
      oom) exec dd if=/dev/zero of=/dev/null bs=200M count=1 ;;
    esac
  done
  sleep $pause & wait $!
done
"""


def make_image(client: docker.APIClient, tag: str) -> str:
    """Imports the image, and returns its name."""
    changes = ['CMD ["/agent"]', "ENV PATH=/bin"]
    client.import_image_from_data(
        pack_root({"agent": SCRIPT}, applets=APPLETS), repository=REPOSITORY, tag=tag, changes=changes
    )
    return f"{REPOSITORY}:{tag}"
