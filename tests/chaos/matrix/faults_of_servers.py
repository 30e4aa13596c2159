"""The faults of the servers that the service calls, each behind a relay that breaks: Telegram, a provider, mail, Redis,
the database and the name server."""

from collections.abc import Mapping

from tests.chaos.matrix import breaking_engine_parts as parts
from tests.chaos.matrix.breaking import (
    database_full,
    database_killed,
    database_stopped,
    relay,
)
from tests.chaos.matrix.breaking_answers import mail_answering, provider_answering, telegram_answering
from tests.chaos.matrix.breaking_database import database, other_settings
from tests.chaos.matrix.breaking_names import names
from tests.chaos.matrix.breaking_redis import REFUSALS, redis_killed, redis_refusing, redis_stopped
from tests.chaos.matrix.fault import STOPS, Fault
from tests.fakes import smtp


def _of_a_server(name: str, kind: str = "") -> dict[str, Fault]:
    """The faults of a server behind a relay."""
    return {
        f"{name}/kill": Fault(relay(name, "refuse"), kind=kind),
        **{f"{name}/stop {seconds:.0f} s": Fault(relay(name, "hang"), seconds, kind=kind) for seconds in STOPS},
        f"{name}/drip": Fault(relay(name, "drip"), kind=kind),
        f"{name}/half answers": Fault(relay(name, "half"), kind=kind),
    }


def _of_a_website(name: str) -> dict[str, Fault]:
    """The faults of a server that speaks HTTP, or of something on the way to it that does."""
    return {
        f"{name}/a page": Fault(relay(name, "page")),
        f"{name}/leads elsewhere": Fault(relay(name, "elsewhere")),
        f"{name}/never ends": Fault(relay(name, "endless"), 10.0),
    }


OF_SERVERS: Mapping[str, Fault] = {
    "database/kill": Fault(database_killed),
    "database/connections ended": Fault(parts.connections_ended, 10.0),
    **{f"database/stop {seconds:.0f} s": Fault(database_stopped, seconds) for seconds in STOPS},
    "database/hang after connect": Fault(relay("database", "hang"), 10.0),
    "database/drip": Fault(relay("database", "drip"), 10.0),
    "database/half answers": Fault(relay("database", "half")),
    "database/disk full": Fault(database_full),
    "database/restarted": Fault(database("restarted")),
    "database/no connection left": Fault(database("full"), 10.0),
    "database/read-only": Fault(database("read-only"), 10.0),
    "database/standby": Fault(database("standby")),
    "database/changes hang": Fault(database("hanging"), 10.0),
    "database/projects locked": Fault(database("locked table of projects_project"), 10.0),
    "database/other settings": Fault(other_settings, 10.0),
    **_of_a_server("telegram"),
    **_of_a_website("telegram"),
    "telegram/5xx": Fault(telegram_answering("break_down")),
    "telegram/429": Fault(telegram_answering("rate_limit")),
    "telegram/wrong JSON": Fault(telegram_answering("garbage")),
    **_of_a_server("provider"),
    **_of_a_website("provider"),
    "provider/5xx": Fault(provider_answering("break_down")),
    "provider/429": Fault(provider_answering("rate_limit")),
    "provider/wrong JSON": Fault(provider_answering("garbage")),
    **_of_a_server("mail"),
    "mail/4xx": Fault(mail_answering("MAIL", "451 later")),
    "mail/never ends": Fault(mail_answering("MAIL", smtp.babble), 10.0),
    "mail/never confirms": Fault(mail_answering("text", smtp.hang), 10.0),
    **_of_a_server("redis", "redis"),
    "redis/kill": Fault(redis_killed, kind="redis"),
    **{f"redis/stop {seconds:.0f} s": Fault(redis_stopped, seconds, kind="redis") for seconds in STOPS},
    "redis/hang after connect": Fault(relay("redis", "hang"), 10.0, kind="redis"),
    "redis/wrong answers": Fault(relay("redis", "garbage"), kind="redis"),
    **{f"redis/{what}": Fault(redis_refusing(what), 10.0, kind="redis") for what in REFUSALS},
    "names/kill": Fault(names("refuse"), 10.0, kind="names"),
    **{f"names/stop {seconds:.0f} s": Fault(names("hang"), seconds, kind="names") for seconds in STOPS},
    "names/server fails": Fault(names("failing"), 10.0, kind="names"),
    "names/no such name": Fault(names("unknown"), 10.0, kind="names"),
    "names/wrong answers": Fault(names("garbage"), 10.0, kind="names"),
    "names/slow": Fault(names("slow"), 10.0, kind="names"),
}
