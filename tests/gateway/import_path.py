"""Makes the gateway's packages importable, and next to them agent_contract, as in the image."""

import sys

from containers import agent_contract
from containers.docker_api.building.image_build import GATEWAY

sys.modules.setdefault("agent_contract", agent_contract)
sys.path.append(str(GATEWAY.folder))
