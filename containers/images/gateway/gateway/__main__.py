"""python -m gateway

With GATEWAY_SUPERVISED=1, which the image sets, the gateway restarts by itself if it is killed or hangs.
"""

import gc
import os
import sys
from contextlib import suppress
from functools import partial

from gateway.config import read_config
from gateway.serving.listening import listen

if __name__ == "__main__":
    listening = None
    with suppress(ValueError):  # `main` reports it
        listening = listen(read_config())
    gc.disable()  # imported modules stay, so a search for garbage only delays the start; `main` enables it again
    from gateway.serving.heartbeat import Heartbeat
    from gateway.serving.run import main
    from gateway.serving.supervisor import supervise

    if os.environ.get("GATEWAY_SUPERVISED"):
        heartbeat, end = Heartbeat(), listening.close if listening else None
        sys.exit(supervise(partial(main, listening, heartbeat), end=end, heartbeat=heartbeat))
    main(listening)
