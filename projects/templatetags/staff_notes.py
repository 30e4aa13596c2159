"""What staff must know about this installation, for the first page of the admin."""

from django import template
from django.conf import settings

from accounts.services.outbox_health import describe_trouble
from containers.firewall.boot import restarts_by_engine
from projects.models import Watch
from projects.models.installation import read_hold
from projects.services.alerts.service_health import describe_backup, describe_disk, describe_watcher
from projects.services.gateway.provisioning import describe_trouble as describe_gateway_trouble
from projects.services.inventory.decisions import describe_overdue

register = template.Library()

NOT_CLOSED_AT_BOOT = (
    "After a reboot of the engine's host, agents stay down until Berth has set their firewall rules and starts them, "
    "because nothing sets these rules before the engine starts. To change that, run `sudo make install-service`."
)


@register.simple_tag
def staff_notes() -> list[str]:
    """Returns sentences, the most urgent first; none if all is well."""
    watches = Watch.objects.filter(instance=settings.BERTH_INSTANCE)
    walls = [sentence for row in watches.values_list("firewall_warning", "names_warning") for sentence in row]
    notes = [read_hold(), describe_watcher(), *walls, describe_gateway_trouble(), describe_trouble()]
    notes += [describe_disk(), describe_backup(), describe_overdue()]
    notes += [] if restarts_by_engine() else [NOT_CLOSED_AT_BOOT]
    return [note for note in notes if note]
