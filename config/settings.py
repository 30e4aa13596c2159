"""The one settings file. All that differs between installations comes from the environment (docs/configuration.md)."""

import re
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config.environment import addresses, env, servers
from config.environment.key_files import private_directory, require_strength, secret
from config.version import read_version

BASE_DIR = Path(__file__).resolve().parent.parent
TESTING = "pytest" in sys.modules
BERTH_VERSION = read_version()

# -- where Berth lives ------------------------------------------------------------------------------------------------
BERTH_DATA_DIR = private_directory(env.directory("BERTH_DATA_DIR", BASE_DIR / "var"))
BERTH_HOST = addresses.host("BERTH_HOST", "127.0.0.1")
BERTH_PORT = env.number("BERTH_PORT", 8000, low=1, high=65535)
BERTH_PUBLIC_URL = addresses.url("BERTH_PUBLIC_URL", ("http", "https"), takes_path=False) or env.local_url(
    BERTH_HOST, BERTH_PORT
)
BERTH_LOG_FORMAT = env.choice("BERTH_LOG_FORMAT", ("text", "json"), "text")
_public = urlsplit(BERTH_PUBLIC_URL)
_behind_tls = _public.scheme == "https"
_on_this_machine = _public.hostname in {"localhost", "127.0.0.1", "::1"}

# -- keys -------------------------------------------------------------------------------------------------------------
SECRET_KEY = require_strength("BERTH_SECRET_KEY", secret("BERTH_SECRET_KEY", BERTH_DATA_DIR), least=16)
BERTH_TOKEN_KEY = require_strength("BERTH_TOKEN_KEY", secret("BERTH_TOKEN_KEY", BERTH_DATA_DIR), least=32)
_encryption_keys = secret("BERTH_ENCRYPTION_KEYS", BERTH_DATA_DIR, lambda: Fernet.generate_key().decode())
BERTH_ENCRYPTION_KEYS = [key for key in re.split(r"[,\s]+", _encryption_keys) if key]
try:
    for _key in BERTH_ENCRYPTION_KEYS:
        Fernet(_key)
except ValueError:
    BERTH_ENCRYPTION_KEYS = []
if not BERTH_ENCRYPTION_KEYS:
    raise ImproperlyConfigured(
        "BERTH_ENCRYPTION_KEYS holds no key, or something that is not a Fernet key. Separate the keys with commas, "
        "newest first."
    )

# -- the engine and what agents may reach -----------------------------------------------------------------------------
BERTH_ENGINE = env.choice("BERTH_ENGINE", ("docker", "swarm"), "docker")
BERTH_ENGINE_CLASS = {
    "docker": "containers.docker.engine.DockerEngine",
    "swarm": "containers.swarm.engine.SwarmEngine",
}[BERTH_ENGINE]
servers.engine("DOCKER_HOST")
# Confinement that a Swarm of an older Docker may do without.
BERTH_SWARM_ACCEPT = env.words("BERTH_SWARM_ACCEPT")
if unknown := set(BERTH_SWARM_ACCEPT) - {"no-new-privileges", "runtime", "seccomp", "swap"}:
    raise ImproperlyConfigured(f"BERTH_SWARM_ACCEPT holds {env.shown(min(unknown))}, which Berth does not know.")
# Where a Swarm creates the volumes of agents' states. Empty: on the disk of the node that runs the agent.
BERTH_SWARM_VOLUME_DRIVER = env.pattern(
    "BERTH_SWARM_VOLUME_DRIVER",
    r"[A-Za-z0-9][A-Za-z0-9_./:@-]{0,199}",
    "Set it to the name of a volume driver, such as local or vieux/sshfs:latest.",
)
BERTH_SWARM_VOLUME_OPTIONS = dict(word.partition("=")[::2] for word in env.text("BERTH_SWARM_VOLUME_OPTIONS").split())
if not (all(BERTH_SWARM_VOLUME_OPTIONS) and all(BERTH_SWARM_VOLUME_OPTIONS.values())):
    raise ImproperlyConfigured(
        "BERTH_SWARM_VOLUME_OPTIONS holds something that is not `name=value`. Separate several with spaces."
    )
if BERTH_SWARM_VOLUME_OPTIONS and not BERTH_SWARM_VOLUME_DRIVER:
    raise ImproperlyConfigured(
        "BERTH_SWARM_VOLUME_OPTIONS is set without BERTH_SWARM_VOLUME_DRIVER, so that the options have no effect. Set "
        "the driver too, such as local."
    )
if BERTH_SWARM_VOLUME_DRIVER == "local" and not BERTH_SWARM_VOLUME_OPTIONS.get("device", "/{agent}").endswith(
    "/{agent}"
):
    raise ImproperlyConfigured(
        "BERTH_SWARM_VOLUME_OPTIONS gives all agents one folder, so that they would share one memory. End its device "
        "with `/{agent}`: each agent gets a folder of its own there."
    )
BERTH_REGISTRY = addresses.registry("BERTH_REGISTRY")
BERTH_INSTANCE = env.pattern(
    "BERTH_INSTANCE", r"[a-z][a-z0-9-]{0,19}", "Set 1 to 20 of a-z, 0-9 and '-', beginning with a letter.", "berth"
)
# How many times the memory of the engine's host the plans of running agents may add up to.
BERTH_OVERCOMMIT = env.factor("BERTH_OVERCOMMIT", "4", low=Decimal("0.1"), high=Decimal(1000))
BERTH_CONTAINER_RUNTIME = env.pattern(
    "BERTH_CONTAINER_RUNTIME",
    r"[A-Za-z0-9/][A-Za-z0-9_./-]{0,199}",
    "Set it to the name of a runtime that the engine knows, such as runsc.",
)
# Empty: a name that no other installation has.
BERTH_CONTAINER_NETWORK = env.pattern(
    "BERTH_CONTAINER_NETWORK",
    r"(?!(bridge|default|docker_gwbridge|host|ingress|none)\Z)[A-Za-z0-9][A-Za-z0-9_.-]{0,62}",
    "Set a name of letters, digits, '_', '.' and '-' that is not one of the engine's own networks.",
)
BERTH_INSTALLATION_SOURCE = "projects.models.installation.read_installation_id"
# The lowest user number of an agent. None: the installation's id chooses a block of numbers that nobody else uses.
BERTH_UID_BASE = env.number("BERTH_UID_BASE", 0, low=10_002, high=2_000_000_000) if env.text("BERTH_UID_BASE") else None
BERTH_TELEGRAM_API = addresses.url("BERTH_TELEGRAM_API", ("http", "https"), "https://api.telegram.org")
BERTH_PROVIDER_API = addresses.url("BERTH_PROVIDER_API", ("http", "https"))
BERTH_DNS = addresses.name_servers("BERTH_DNS")
BERTH_EGRESS_ALLOW = addresses.networks("BERTH_EGRESS_ALLOW")
if re.search(r"/bot[^/]*\Z", BERTH_TELEGRAM_API):
    raise ImproperlyConfigured("BERTH_TELEGRAM_API ends with /bot…, which Berth adds itself. Leave that part out.")
# The addresses of a Swarm's agents, the same on every node: one half for those behind the gateway.
BERTH_SWARM_SUBNET = addresses.subnet("BERTH_SWARM_SUBNET", "10.231.0.0/20")
# Where the gateways of a Swarm's nodes listen for Berth. The refused ports belong to the Swarm and to agents.
BERTH_SWARM_GATEWAY_PORT = env.number("BERTH_SWARM_GATEWAY_PORT", 8443, low=1024, high=65_535)
if BERTH_SWARM_GATEWAY_PORT in {2377, 7946, 8080}:
    raise ImproperlyConfigured(
        "BERTH_SWARM_GATEWAY_PORT is a port that each node of a Swarm uses already. Choose another one, such as 8444."
    )
# Private networks to which users' webhooks may be sent.
BERTH_WEBHOOK_ALLOW = addresses.networks("BERTH_WEBHOOK_ALLOW")
BERTH_FIREWALL = env.choice("BERTH_FIREWALL", ("auto", "required", "best-effort"), "auto")
BERTH_BOOT_FIREWALL = env.choice("BERTH_BOOT_FIREWALL", ("auto", "on", "off"), "auto")
BERTH_GATEWAY = env.switch("BERTH_GATEWAY", default=True)
# Each node of a Swarm has a gateway. Only one of them at a time lets an agent through.
BERTH_GATEWAY_ON_EACH_NODE = BERTH_ENGINE == "swarm"
BERTH_EGRESS = env.choice("BERTH_EGRESS", ("internet", "gateway"), "internet")
if BERTH_EGRESS == "gateway" and not BERTH_GATEWAY:
    raise ImproperlyConfigured(
        "BERTH_EGRESS=gateway lets agents reach the gateway alone, and BERTH_GATEWAY is off. Set BERTH_GATEWAY=on."
    )
BERTH_VERIFY_CREDENTIALS = env.switch("BERTH_VERIFY_CREDENTIALS", default=True)
BERTH_SIGNUP = env.choice("BERTH_SIGNUP", ("closed", "open"), "closed")
BERTH_REQUIRE_STAFF_MFA = env.switch("BERTH_REQUIRE_STAFF_MFA", default=False)
BERTH_ADMIN_EMAIL = servers.email("BERTH_ADMIN_EMAIL")
BERTH_ADMIN_PASSWORD = env.text("BERTH_ADMIN_PASSWORD")

# Days after which operators are notified that the last backup is old. 0: never.
BERTH_BACKUP_DAYS = env.number("BERTH_BACKUP_DAYS", 7, low=0, high=3650)
# How long the events of projects are kept.
BERTH_EVENTS_DAYS = env.number("BERTH_EVENTS_DAYS", 365, low=1, high=3650)
# How long model usage of agents is kept: at least the current month and the one before it.
BERTH_USAGE_DAYS = env.number("BERTH_USAGE_DAYS", 400, low=62, high=3650)

# What Prometheus sends to read /metrics. Without it, only programs on this machine may.
BERTH_METRICS_TOKEN = env.text("BERTH_METRICS_TOKEN")
if 0 < len(BERTH_METRICS_TOKEN) < 24:
    raise ImproperlyConfigured("BERTH_METRICS_TOKEN is shorter than 24 characters. `openssl rand -hex 24` makes one.")
if not re.fullmatch(r"[!-~]{0,1000}", BERTH_METRICS_TOKEN):
    raise ImproperlyConfigured(
        "BERTH_METRICS_TOKEN has spaces, letters beyond ASCII or more than 1000 characters, which no client can send. "
        "`openssl rand -hex 24` makes a better one."
    )

# -- the server -------------------------------------------------------------------------------------------------------
BERTH_WORKERS = env.number("BERTH_WORKERS", 2, low=1, high=64)
BERTH_THREADS = env.number("BERTH_THREADS", 16, low=2, high=256)
# What `serve` runs here. If web servers run on several machines, the watcher may be a service of its own.
BERTH_ROLE = env.choice("BERTH_ROLE", ("all", "web", "watcher"), "all")
# Where a watcher that runs alone reports its health and metrics; 0: nowhere.
BERTH_WATCHER_PORT = env.number("BERTH_WATCHER_PORT", 0, low=0, high=65535)
# Seconds for which a stopping server still serves while /readyz is 503.
BERTH_DRAIN_SECONDS = env.number("BERTH_DRAIN_SECONDS", 0, low=0, high=300)
# Event streams that each process sends at a time. They have threads of their own, and use none of the above.
BERTH_STREAMS = 32
# Seconds after which an inactive process of the web server is replaced. The length of a request does not matter:
# threads answer it, and the process shows each second that it lives.
BERTH_WORKER_TIMEOUT = 30
# Seconds that a request waits for Telegram, and again for a provider, from the name look-up to the last byte.
BERTH_OUTSIDE_LIMIT = 5.0
# Seconds that requests in flight get when the server is told to stop: as long as any request may take.
BERTH_GRACE = 30

DEBUG = False
BERTH_NAMED_HOSTS = addresses.hosts("BERTH_ALLOWED_HOSTS")
# The loopback names are for health checks and for this machine: LoopbackHostMiddleware keeps everybody else out.
ALLOWED_HOSTS = [
    addresses.bracketed(_public.hostname or BERTH_HOST),
    "localhost",
    "127.0.0.1",
    "[::1]",
    *BERTH_NAMED_HOSTS,
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
# Of a body, on every path.
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024
# No form accepts files, so files that clients send are read and discarded.
FILE_UPLOAD_HANDLERS: list[str] = []

INSTALLED_APPS = [
    "config",
    "accounts",
    "projects",
    "containers",
    "corsheaders",
    "accounts.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
]

# Foreign origins that may call the API in a browser. It accepts no cookie: they send a token that they were given.
CORS_ALLOWED_ORIGINS = addresses.origins("BERTH_CORS_ORIGINS")
CORS_URLS_REGEX = r"^/api/"
CORS_ALLOW_CREDENTIALS = False
CORS_ALLOW_METHODS = ["GET", "POST", "PATCH", "DELETE"]
CORS_ALLOW_HEADERS = [
    "authorization", "content-type", "idempotency-key", "if-none-match", "last-event-id", "x-request-id"
]  # fmt: skip
CORS_EXPOSE_HEADERS = [
    "ETag", "Idempotent-Replayed", "Link", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-ID"
]  # fmt: skip
CORS_PREFLIGHT_MAX_AGE = 600

MIDDLEWARE = [
    "config.http.middleware.RequestIdMiddleware",
    "config.http.middleware.TimeLimitMiddleware",
    "config.http.middleware.PrivateAnswersMiddleware",
    "config.http.middleware.PermissionsPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.http.middleware.ContentSecurityPolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    *(["corsheaders.middleware.CorsMiddleware"] if CORS_ALLOWED_ORIGINS else []),
    "config.http.hosts.LoopbackHostMiddleware",
    "accounts.throttling.rate_limits.RateLimitHeadersMiddleware",
    "config.http.page_middleware.ForPages",
    "projects.dashboard.page_polls.PagePolls",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.dashboard.session.still_signed_in.StillSignedInMiddleware",
    "accounts.dashboard.session.unsent_forms.UnsentFormMiddleware",
    "accounts.dashboard.middleware.SecondFactorRuleMiddleware",
    "accounts.dashboard.middleware.PageLimitMiddleware",
    "accounts.dashboard.notice.MaintenanceMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.http.page_middleware.ForAll",
    "config.http.methods.MethodMiddleware",
    "config.http.request_bodies.BodyLimitMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "accounts.dashboard.notice.add_notice",
            ],
        },
    },
]

# -- the database -----------------------------------------------------------------------------------------------------
_database: dict[str, Any] = servers.database("DATABASE_URL", BERTH_DATA_DIR / "berth.sqlite3")
if _database["ENGINE"] == servers.SQLITE:
    # Without IMMEDIATE a transaction that reads and then writes fails at once when another has written in between.
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 12,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
    _database["CONN_MAX_AGE"] = None
    if BERTH_ROLE != "all":
        raise ImproperlyConfigured(
            f"BERTH_ROLE is {BERTH_ROLE}, and web servers and watchers meet in PostgreSQL only. Set DATABASE_URL, or "
            "leave BERTH_ROLE out, which runs both here."
        )
else:
    # A connection is held for the whole request, so a pool smaller than the threads starves them. The pool itself
    # requires CONN_MAX_AGE = 0.
    _database["OPTIONS"] = {
        # Seconds, and for tcp_user_timeout milliseconds, after which TCP considers a silent host gone.
        "connect_timeout": 3,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        **_database.get("OPTIONS", {}),
        # It tries to connect again after 1 and after 2 seconds, and then whenever a request asks.
        # The pool closes one unused connection every `max_idle` seconds. With its default of ten minutes, those that a
        # burst of requests has opened would stay for hours.
        "pool": {
            "min_size": 2,
            "max_size": BERTH_THREADS + 4,
            "timeout": 4,
            "reconnect_timeout": 3,
            "max_idle": 10,
        },
    }
    _database["CONN_MAX_AGE"] = 0
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_cache = servers.cache("BERTH_CACHE_URL")
CACHES = {
    "default": {"BACKEND": "config.cache_backend.DeadlineRedisCache", "LOCATION": _cache}
    if _cache
    else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"}
}
# Several machines share counts there; without it, counts are in the database.
BERTH_COUNT_IN_CACHE = bool(_cache)

# -- people -----------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "accounts:sign-in"
LOGIN_REDIRECT_URL = "projects:list"
LOGOUT_REDIRECT_URL = "accounts:sign-in"
PASSWORD_HASHERS = [
    "accounts.credentials.passwords.BoundedArgon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email",)},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "accounts.credentials.passwords.CommonPasswordValidator"},
    {"NAME": "accounts.credentials.passwords.PasswordShapeValidator"},
]

# -- the API ----------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.api.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.api.permissions.ScopePermission"],
    "DEFAULT_THROTTLE_CLASSES": ["projects.api.throttling.UserThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["accounts.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    # One parameter of its own, on every path, which no view has declared.
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "config.http.problems.problem_response",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
# Per user and minute.
BERTH_LIMITS = {"reads": 600, "commands": 60, "deploys": 20}
SIMPLE_JWT = {
    "ALGORITHM": "HS256",
    "SIGNING_KEY": BERTH_TOKEN_KEY,
    "AUDIENCE": "berth-api",
    "ISSUER": "berth",
    "ACCESS_TOKEN_LIFETIME": timedelta(hours=12),
    # How much the clocks of machines that accept each other's tokens may differ. The database's clock decides when a
    # token ends.
    "LEEWAY": timedelta(minutes=5),
    "UPDATE_LAST_LOGIN": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Berth",
    "DESCRIPTION": (
        "Deploy Telegram agents, see what they do, start and stop them.\n\n"
        "Each user has 600 reads, 60 commands and 20 deploys a minute. The headers `RateLimit-Policy` and `RateLimit` "
        "say how many are left, and the `Retry-After` of a 429 how many seconds to wait."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": BERTH_PUBLIC_URL}],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "accounts.api.openapi.complete_problems",
        "accounts.api.openapi.name_ids",
        "config.api_docs.health_checks.add_health_checks",
        "config.api_docs.examples.add_examples",
    ],
    "ENUM_NAME_OVERRIDES": {
        "Egress": "projects.rules.permissions.Egress",
        "ProjectStatus": "projects.rules.status.statuses.Status",
    },
}

# -- headers and cookies ----------------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "object-src": [NONE],
        "frame-ancestors": [NONE],
    }
}
# Browsers keep Secure cookies, which `__Host-` cookies must be, over https and from this machine. Anywhere else nobody
# could sign in over plain http, so cookies do without it there; `check --deploy` says so.
_secure_cookies = _behind_tls or _on_this_machine
_cookie_prefix = "__Host-" if _secure_cookies else ""
SESSION_COOKIE_NAME = f"{_cookie_prefix}berth-session"
SESSION_COOKIE_SECURE = _secure_cookies
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_ENGINE = "accounts.credentials.dashboard_sessions"
# Not in a cookie of its own, whose name would have no `__Host-`.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
CSRF_COOKIE_NAME = f"{_cookie_prefix}berth-csrf"
CSRF_COOKIE_SECURE = _secure_cookies
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = [addresses.origin_of(BERTH_PUBLIC_URL)]
CSRF_FAILURE_VIEW = "config.http.error_handlers.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_HSTS_SECONDS = 31_536_000 if _behind_tls else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _behind_tls
SECURE_HSTS_PRELOAD = _behind_tls
SECURE_SSL_REDIRECT = False  # the proxy that holds the certificate redirects, and health checks come without TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _behind_tls else None
BERTH_TRUSTED_PROXIES = env.number("BERTH_TRUSTED_PROXIES", 0, low=0, high=5)
SILENCED_SYSTEM_CHECKS = ["security.W008"] + ([] if _behind_tls else ["security.W004"])

# -- the rest ---------------------------------------------------------------------------------------------------------
_mail = servers.mail("BERTH_EMAIL_URL")
BERTH_SENDS_MAIL = bool(_mail)
if _mail:
    EMAIL_BACKEND = "config.mail_backend.DeadlineBackend"
    EMAIL_HOST, EMAIL_PORT = _mail["EMAIL_HOST"], _mail["EMAIL_PORT"]
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_USER"], _mail["EMAIL_HOST_PASSWORD"]
    EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.get("EMAIL_USE_TLS", False), _mail.get("EMAIL_USE_SSL", False)
# Seconds for a whole mail, from the name look-up to the server's last word.
EMAIL_TIMEOUT = 30
if BERTH_SIGNUP == "open" and not BERTH_SENDS_MAIL:
    raise ImproperlyConfigured("BERTH_SIGNUP is open, which needs a mail server. Set BERTH_EMAIL_URL, or close it.")
DEFAULT_FROM_EMAIL = servers.email(
    "BERTH_EMAIL_FROM", f"berth@{servers.mail_domain(_public.hostname or 'localhost')}", takes_name=True
)
LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = ["config.formats"]
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = BERTH_DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "config.http.middleware.RequestIdFilter"}},
    "formatters": {
        "text": {
            "()": "config.logs.formatting.TextFormatter",
            "format": "{asctime} {levelname} {name} [{request_id}] {message}",
            "style": "{",
        },
        "json": {"()": "config.logs.formatting.JsonFormatter"},
    },
    "handlers": {
        "console": {
            "class": "config.logs.output.ConsoleHandler",
            "formatter": BERTH_LOG_FORMAT,
            "filters": ["request_id"],
        },
        "refusals": {"class": "config.logs.refusals.RefusalsHandler"},
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        # Our access log has the 4xx. This leaves the errors, with their tracebacks.
        "django.request": {"level": "ERROR"},
        "django.security": {"handlers": ["refusals"], "propagate": False},
        # At INFO it has two lines for each request.
        "psycopg.pool": {"level": "WARNING"},
    },
}
