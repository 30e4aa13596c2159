"""Another installation, and containers from before there were ids."""

from django.conf import settings
from django.test import override_settings

from containers.identity import former_name
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from tests.containers.engine_fixtures import OWNER, EngineUnderTest, deploy

ELSEWHERE = override_settings(BERTH_INSTALLATION_SOURCE="tests.installations.theirs")


def deploy_former(under_test: EngineUnderTest) -> None:
    """Deploys as Berth did before installations had ids."""
    labels = {INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: under_test.key, "berth.owner": OWNER}
    deploy(under_test, name=former_name(under_test.key), labels=labels)
