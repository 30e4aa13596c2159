"""The gateway's rooms, for the tests of each of them. In its image this module stands beside them."""

import sys

from containers import agent_contract
from containers.docker_api.building.image_build import GATEWAY

sys.modules.setdefault("agent_contract", agent_contract)
sys.path.append(str(GATEWAY.folder))
