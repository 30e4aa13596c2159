"""python -m gateway

With GATEWAY_SUPERVISED=1, which the image sets, the gateway restarts by itself if it is killed.
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
    from gateway.serving.run import main
    from gateway.serving.supervisor import supervise

    if os.environ.get("GATEWAY_SUPERVISED"):
        sys.exit(supervise(partial(main, listening), end=listening.close if listening else None))
    main(listening)
