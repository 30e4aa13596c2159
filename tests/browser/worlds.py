"""Services to look at: one with everything in every state, and an empty one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import Notice, OpenSession, User
from containers.vocabulary import Health
from projects.models import AlertChannel, AlertDelivery, DeliveryState, HourlyUsage, Plan, Project, Sample
from projects.rules.alerts import Way
from tests.browser.project_pages import deploy_named
from tests.clients import make_person
from tests.factories import ApiKeyFactory
from tests.fakes.engine import MemoryEngine
from tests.security.populated_service import PopulatedService

MOODS = ["Harbour pilot", "Night watch", "Tide tables", "x" * 64, "Lost at sea", "Under repair"]


@dataclass(frozen=True, kw_only=True)
class World:
    """`parameters` are the values for the parameters of routes; `more` are addresses that no route contains."""

    name: str
    owner: User
    admin: User
    parameters: dict[str, Any] = field(default_factory=dict)
    more: Sequence[str] = ()


def make_full(engine: MemoryEngine) -> World:
    """One object of each kind, and agents in every state. Long texts have their maximum length."""
    service = PopulatedService.make(engine)
    fleet = deploy_fleet(service.alice)
    crashed = stir(fleet, engine)
    spend(crashed)
    measure(fleet["Harbour pilot"])
    tell_by_webhook_and_bot(service.alice)
    for token, program, address in (("a", "Firefox, Linux", "203.0.113.9"), ("b", "", None), ("c", "x" * 40, "::1")):
        note_session(service.alice, token=token, program=program, address=address)
    add_keys(service.alice)
    more = [f"/projects/{project.pk}" for project in fleet.values()]
    more += ["/?status=crashed", "/?q=nowhere", f"/projects/{crashed.pk}?span=7d", "/settings/email/confirm?link=x"]
    return World(
        name="full",
        owner=service.alice,
        admin=service.admin,
        parameters=service.route_parameters | {"project_id": crashed.pk, "id": crashed.pk},
        more=more,
    )


def make_empty() -> World:
    return World(name="empty", owner=make_person("bob"), admin=make_person("ada"))


def deploy_fleet(owner: User) -> dict[str, Project]:
    """A project for each state that a list can show."""
    Plan.objects.filter(slug="pro").update(max_projects=20)
    return {name: deploy_named(owner, name, number) for number, name in enumerate(MOODS)}


def stir(fleet: dict[str, Project], engine: MemoryEngine) -> Project:
    """Bring each into its state, and return the one with the most to show."""
    _, watch, tide, long, sea, repair = fleet.values()
    for number in range(40):
        engine.log(watch.container_name, f'AGENT-STATUS {{"v":1,"state":"running","code":"","detail":"poll {number}"}}')
    engine.log(watch.container_name, "telegram.error.InvalidToken: Unauthorized " + "y" * 150)
    engine.crash(watch.container_name, exit_code=20)
    engine.report(tide.container_name, "degraded", "provider_busy")
    engine.set_health(tide.container_name, Health.UNHEALTHY)
    engine.crash(long.container_name, exit_code=1, restarting=True)
    later = timezone.now() + timedelta(minutes=10)
    Project.objects.filter(pk=sea.pk).update(operation="restart", operation_id=sea.pk, operation_deadline=later)
    engine.exit(repair.container_name)
    Project.objects.filter(pk=repair.pk).update(suspended_at=timezone.now())
    Project.objects.update(observed_at=None)
    return watch


def spend(project: Project) -> None:
    """Days of usage, of models with long names, and a budget that is reached."""
    now = timezone.now()
    Plan.objects.filter(pk=project.plan_id).update(day_tokens=5000, month_money=20)
    Project.objects.filter(pk=project.pk).update(budget_until=now + timedelta(days=1))
    for number, model in enumerate(["gpt-5.4-mini", "", "organisation/a-model-with-a-name:" + "x" * 90]):
        hour = now - timedelta(days=number)
        row = {"project_id": project.pk, "owner_id": project.owner_id, "store": "s", "hour": hour, "model": model}
        HourlyUsage.objects.create(**row, requests=7, errors=2, estimated=1, input=10**12, output=10**9, money=10**13)


def measure(project: Project) -> None:
    """Two days of samples, with a gap, and an hour that was counted."""
    now = timezone.now().replace(second=0, microsecond=0)
    row = {"project_id": project.pk}
    of_minutes = [(1, minute) for minute in range(2, 1400) if not 20 < minute < 35]
    of_quarters = [(15, minute) for minute in range(15, 60 * 24 * 6, 15)]
    Sample.objects.bulk_create(
        Sample(
            **row,
            at=now - timedelta(minutes=minute),
            minutes=length,
            cpu=300 + 37 * minute % 700,
            memory=(200 + minute % 90) << 20,
            received=minute * 2500,
            sent=(minute * 7919) % 90_000,
        )
        for length, minute in [*of_minutes, *of_quarters]
    )
    hour = now.replace(minute=0)
    for ago in range(20):
        counts = {"hour": hour - timedelta(hours=ago), "messages": 3 * ago % 7, "input": 900 * ago}
        HourlyUsage.objects.create(**row, owner_id=project.owner_id, store="s", model="m", **counts)


def tell_by_webhook_and_bot(user: User) -> None:
    """A webhook with messages of every state, and a bot whose chat is not known yet; and a notice for everybody."""
    target = f"https://{'hooks.' * 20}example/…"
    sealed = {"secret_ciphertext": "x", "secret_hint": "abcd", "link_code": "0123456789abcdef"}
    webhook = AlertChannel.objects.create(user=user, way=Way.WEBHOOK, target=target, **sealed)
    AlertChannel.objects.create(user=user, way=Way.TELEGRAM, bot_username="harbour_bell_bot", **sealed)
    for state in DeliveryState:
        facts = {"project": "x" * 64, "sentence": "Crashed: Telegram refused the bot token", "code": "crash"}
        AlertDelivery.objects.create(
            channel=webhook, kind="crash", state=state, facts=facts, attempts=2, last_answer="Answered 500"
        )
    told = {"text": "On Sunday we move the disks: https://status.example/disks", "is_maintenance": False}
    Notice.objects.update_or_create(pk=1, defaults=told)


def note_session(user: User, **values: Any) -> None:
    ends_at = timezone.now() + timedelta(hours=1)
    OpenSession.objects.create(user=user, kind="api", ends_at=ends_at, session_version=user.session_version, **values)


def add_keys(user: User) -> dict[str, Any]:
    """By kind: used, for reading, to be rotated, expired."""
    ago = timezone.now() - timedelta(hours=3)
    used = {"last_used_at": ago, "last_used_ip": "2001:db8:85a3::8a2e:370:7334"}
    return {
        "used": ApiKeyFactory.create(user=user, name="deploy script", **used),
        "reads": ApiKeyFactory.create(user=user, name="x" * 64, scope="read", expires_at=None),
        "rotated": ApiKeyFactory.create(user=user, name="y" * 64),
        "old": ApiKeyFactory.create(user=user, name="last year's", expired=True),
    }
