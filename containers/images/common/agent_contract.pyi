# For mypy and editors only: in an image this module is the file containers/agent_contract.py, which the build adds.
from containers.agent_contract import *  # noqa: F403
