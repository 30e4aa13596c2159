"""The proxy's constants about Berth are Berth's own."""

import re

import pytest

from containers import agent_contract, vocabulary, volume_containers
from containers.docker.gateway import payload as gateway
from containers.docker.networks import rules_container
from containers.docker.volumes import measuring
from containers.docker_api import exec_transport
from containers.docker_api.building import image_build
from containers.engine import trials
from containers.gateway.vocabulary import PORT
from containers.identity import container_name, exit_network_name, former_name, gateway_network_name, network_name
from containers.socket_proxy import constants
from containers.socket_proxy.constants import Scope

pytestmark = pytest.mark.one_database


def test_the_proxy_s_constants_equal_berth_s() -> None:
    known = {name: value for name, value in vars(constants).items() if isinstance(value, str | int | list)}
    assert {name: value for name, value in known.items() if name[0] != "_"} == {
        "INSTANCE_LABEL": vocabulary.INSTANCE_LABEL,
        "PROJECT_LABEL": vocabulary.PROJECT_LABEL,
        "QUARANTINE_LABEL": vocabulary.QUARANTINE_LABEL,
        "RULES_LABEL": rules_container.LABEL,
        "MEASURES_LABEL": measuring.LABEL,
        "GATEWAY_LABEL": gateway.LABEL,
        "TRIAL_LABEL": trials.TRIAL_LABEL,
        "HANDOVER_LABEL": volume_containers.HANDOVER_LABEL,
        "CARRIER": volume_containers.CARRIER,
        "TALK": list(exec_transport.TALK),
        "FIREWALL_IMAGE": image_build.FIREWALL.image,
        "DATA_PATH": agent_contract.DATA_PATH,
        "SECRETS_PATH": agent_contract.SECRETS_PATH,
        "GATEWAY_PORT": PORT,
        "GATEWAY_CPU_SHARES": gateway.CPU_SHARES,
    }


def test_names_are_those_that_berth_gives() -> None:
    scope = Scope(instance="berth")
    containers = (container_name("1"), former_name("3fa85f64-5717-4562-b3fc-2c963f66afa6"))
    networks = (network_name(), gateway_network_name(), exit_network_name())
    assert all(re.fullmatch(scope.hidden_name, name) and re.fullmatch(scope.name, name) for name in containers)
    assert all(re.fullmatch(scope.network_name, name) for name in networks)
