# For mypy and editors only. In an image this module is a copy of containers/agent_contract.py, which the build adds.
from containers.agent_contract import *  # noqa: F403
