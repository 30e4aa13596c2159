"""python -m gateway

GATEWAY_SUPERVISED=1, which the image sets, has it come back by itself where it is killed.
"""

import os
import sys

from gateway.serving.run import main
from gateway.serving.supervisor import supervise

if __name__ == "__main__":
    if os.environ.get("GATEWAY_SUPERVISED"):
        sys.exit(supervise(main))
    main()
