"""For each documented variable: values that work, and values that cannot work and stop the start."""

from cryptography.fernet import Fernet

NOT_TEXT = "\udcff"
KEY, OTHER = Fernet.generate_key().decode(), Fernet.generate_key().decode()

SWITCH = (["on", "OFF", " off "], ["1", "yes", "on off"])
DAYS = ["-1", "1.5", "1e2", "٣", "1_0", "+7", "9" * 5000, "a year"]
URLS = [
    "host", "ftp://h", "https://", "https://x y", "https://x\ty", "https://user@h", "https://u:p@h", "https://h?q=1",
    "https://h#f", "https://h/?", "https://h:0", "https://h:99999", "https://h:", "https://[::1", "https://é.example",
    "https://*.example", "https://h_/ö", "https://999.1.1.1", "//h", "https:/h", "https://h,i", "https://-h",
]  # fmt: skip
NETWORKS = (
    ["10.0.0.5/32", "10.0.0.5:8080", "10.0.0.5/32:65535,fd00::5", "[fd00::5/128]:8080", "[fd00::5]"],
    ["10.0.0.5/32:8_0", "10.0.0.5/32:+80", "10.0.0.5/32:", "10.0.0.5/32:0", "10.0.0.5/32:65536", ":+80", ":80", "[::1",
     "[::1]80", "[::1]:", "::1]", "::1%eth0", "10.0.0.0/33", "host:80", "10.0.0.5/32:٣", "10.0.0.5/32: 80", "[]", "*"],
)  # fmt: skip

VALUES: dict[str, tuple[list[str], list[str]]] = {
    "DATABASE_URL": (
        ["postgresql://u:p%40@h:5432/n", "postgres://h/n?sslmode=require&connect_timeout=5", "postgresql:///n?host=/x",
         "postgresql://%2Frun%2Fpostgresql/n", "postgresql://u@a,b:5433/n?target_session_attrs=read-write",
         "postgresql://h/n?options=-c%20search_path%3Db", "sqlite:////dev/shm/b.sqlite3"],
        ["postgresql://h/n?foo=bar", "postgresql://h/n?sslmode=bogus", "postgresql://h/n?sslmode=",
         "postgresql://h/n?a",
         "postgresql://h/n?sslmode=require&sslmode=prefer", "postgresql://h/n?connect_timeout=abc",
         "postgresql://h/n?pool=1",
         "postgresql://h/n?sslrootcert=/dev/null/x", "postgresql://h/n?ATOMIC_REQUESTS=1",
         "postgresql://h/n?hostaddr=x",
         "postgresql://h/n?password=p", "postgresql://h/n?sslrootcert=system&sslmode=prefer", "postgresql://h:0/n",
         "postgresql://h:99999/n", "postgresql://h x/n", "postgresql://u:p#q@h/n", "postgresql://h/n#f",
         "postgresql://h",
         "postgresql://h\n/n", "sqlite:////tmp/x?foo=bar", "sqlite:////dev/null/x", "sqlite:////tmp", "sqlite://",
         "sqlite:///:memory:", "sqlite://h/tmp/x", "mysql://h/n", "nonsense"],
    ),
    "BERTH_DATA_DIR": (["/tmp/berth-of-a-test/var"], ["/dev/null", "/proc/x", "~nobody-has-this-name/x",
    "/dev/null/x"]),
    "BERTH_HOST": (["0.0.0.0", "::1", "berth.lan"], ["x y", "http://h", "h:80", "[::1]", "999.1.1.1", "0", "h/p", "é"]),
    "BERTH_PORT": (["1", "65535"], ["0", "65536", "-1", "http", "8_0", "+80", "٣"]),
    "BERTH_PUBLIC_URL": (
        ["https://berth.example.org", "http://10.0.0.7:8000/", "https://[2001:db8::5]:8443",
         "https://xn--bcher-kva.example"],
        [*URLS, "https://h/berth", "https://h//", "unix:///x"],
    ),
    "BERTH_ALLOWED_HOSTS": (
        ["berth.internal", "a.example, .b.example", "LOCALHOST", "[2001:db8::5],10.0.0.7", "*"],
        ["https://berth.example", "berth.example:8000", "berth.example/x", "*.example", "::1", "[::1", "a b", "a@b",
         "é.example", "berth.example.", "[berth.example]", "..", "[10.0.0.7]"],
    ),
    "BERTH_CORS_ORIGINS": (
        ["https://app.example.org", "http://localhost:3000,https://[::1]:8443"],
        ["*", "null", "https://x y", "https://x/", "https://x/p", "https://x:443", "https://X", "https://u@x",
         "https://x?q",
         "https://é", "https://x,https://y/"],
    ),
    "BERTH_TRUSTED_PROXIES": (["0", "5"], ["-1", "6", "all", "1.0"]),
    "BERTH_ADMIN_EMAIL": (
        ["ada@example.org"], ["ada", "a@b@c", "Ada <ada@example.org>", "a@b\nBcc: x@y.org", "a@b.org,c@d.org",
         "é@example.org"]
    ),
    "BERTH_ADMIN_PASSWORD": (["any phrase", "ключ"], []),
    "BERTH_SECRET_KEY": (["0123456789abcdef", "k3y" * 16 + "XY"], ["short", "fifteen-letters", "a" * 64, "ab" * 64]),
    "BERTH_TOKEN_KEY": (["0123456789abcdef0123456789abcdef"], ["0123456789abcdef", "a" * 64, "x"]),
    "BERTH_ENCRYPTION_KEYS": ([KEY, f"{KEY},{OTHER}", f"{KEY} {OTHER}"], ["x", ",", f"{KEY},x", KEY[:-2], "é" * 44]),
    "BERTH_LOG_FORMAT": (["text", "JSON"], ["xml", "text json"]),
    "BERTH_WORKERS": (["1", "64"], ["0", "65", "two"]),
    "BERTH_THREADS": (["2", "256"], ["1", "257", "-2"]),
    "BERTH_ROLE": (["all"], ["worker", "web", "watcher"]),  # the last two need PostgreSQL
    "BERTH_WATCHER_PORT": (["0", "8001"], ["-1", "65536", "x"]),
    "BERTH_DRAIN_SECONDS": (["0", "300"], ["-1", "301", "5s"]),
    "BERTH_CACHE_URL": (
        ["redis://localhost", "redis://:p%40ss@h:6379/1", "rediss://u:p@[::1]:6380/0?ssl_cert_reqs=none",
         "redis://h?db=2"],
        ["redis://x/abc", "redis://x:0", "redis://x:abc", "redis://", "redis://x y", "redis://h?foo=bar",
         "redis://h?db=x",
         "redis://h?socket_timeout=x", "redis://h#f", "unix:///run/redis.sock", "http://h",
         "rediss://h?ssl_cert_reqs=x"],
    ),
    "BERTH_ENGINE": (["docker", "Swarm"], ["podman", "docker,swarm"]),
    "DOCKER_HOST": (
        ["unix:///var/run/docker.sock", "unix://", "tcp://10.0.0.5:2376", "10.0.0.5:2375", "https://engine.lan:2376"],
        ["nonsense", "tcp://x", "tcp://x:abc", "tcp://", "tcp://x:0", "unix://run/x", "ssh://h", "fd://3",
         "npipe:////./x",
         "tcp://u:p@h:1", "tcp://h:1?q", "/var/run/docker.sock", "host:port", "tcp://x y:1"],
    ),
    "BERTH_INSTANCE": (["b", "berth-2"], ["Berth", "2nd", "x" * 21, "a_b", "a b", "-a", "é"]),
    "BERTH_CONTAINER_RUNTIME": (["runsc", "io.containerd.runsc.v1", "/opt/runsc"], ["a b", "-x", "a;b", "é", "a\nb",
    "$(id)"]),
    "BERTH_CONTAINER_NETWORK": (["berth-agents", "a.b_c"], ["bridge", "host", "none", "a b", "-x", "a/b", "é",
    "x" * 64]),
    "BERTH_UID_BASE": (["10002", "2000000000"], ["0", "-1", "root", "10001", "2000000001"]),
    "BERTH_OVERCOMMIT": (["0.1", "4", "1000"], ["0", "-1", "inf", "nan", "1e3", "1001", "1,5"]),
    "BERTH_REGISTRY": (
        ["registry.example.org:5000", "localhost", "r:5", "ghcr.io/owner/berth"],
        ["https://r.example", "nonsense", "r.example:0", "r.example:99999", "r.example:x", "u:p@r.example",
         "r.example/", "r.example/A", "r.example//a", "r.example/a:tag", "a b.c", "r.example:5,s:5", "é.example"],
    ),
    "BERTH_SWARM_ACCEPT": (["seccomp", "swap, runtime"], ["everything", "seccomp swap", "-"]),
    "BERTH_SWARM_VOLUME_DRIVER": (["local", "vieux/sshfs:latest"], ["a b", "-x", "é", "a;b", "{}", "$(id)"]),
    # They need a driver. Their tests are in tests/config/environment/test_env.py.
    "BERTH_SWARM_VOLUME_OPTIONS": ([], ["type=nfs", "type", "=x", "type=", "a b"]),
    "BERTH_SWARM_SUBNET": (
        ["10.231.0.0/20", "192.168.1.0/25"],
        ["10.231.0.0/19", "10.231.0.0/26", "10.231.0.5/20", "x", "::/20", "8.8.0.0/20", "127.0.0.0/20", "224.0.0.0/20",
         "169.254.0.0/20", "0.0.0.0/20", "240.0.0.0/20"],
    ),
    "BERTH_SWARM_GATEWAY_PORT": (["1024", "8444"], ["80", "2377", "7946", "8080", "65536", "x"]),
    "BERTH_FIREWALL": (["auto", "best-effort"], ["off", "on"]),
    "BERTH_BOOT_FIREWALL": (["auto", "on"], ["required", "1"]),
    "BERTH_GATEWAY": SWITCH,
    "BERTH_EGRESS": (["internet", "gateway"], ["none", "on"]),
    "BERTH_EGRESS_ALLOW": NETWORKS,
    "BERTH_WEBHOOK_ALLOW": NETWORKS,
    "BERTH_DNS": (["9.9.9.9,2620:fe::fe"], ["127.0.0.53", "::", "dns.example", "9.9.9.9:53", "[::1", "fe80::1%eth0"]),
    "BERTH_TELEGRAM_API": (
        ["https://api.telegram.org", "http://10.0.0.5:8081", "https://h/telegram/"], [*URLS, "https://h/bot",
         "https://h/bot1:x"]
    ),
    "BERTH_PROVIDER_API": (["https://llm.example/v1", "http://[fd00::5]:9/v1/"], URLS),
    "BERTH_VERIFY_CREDENTIALS": SWITCH,
    "BERTH_SIGNUP": (["closed"], ["maybe", "open"]),  # the last one needs a mail server
    "BERTH_REQUIRE_STAFF_MFA": SWITCH,
    "BERTH_EMAIL_URL": (
        ["smtp+tls://user:p%23ss@h:587", "smtp://localhost", "smtp+ssl://[::1]:465/"],
        ["smtp://h:0", "smtp://h:99999", "smtp://h:x", "smtp://", "smtp://x y", "smtp://user@h", "smtp://:p@h",
         "smtp://h?ssl=1",
         "smtp://h/x", "smtp://u:p#q@h", "smtp://h\n.x", "http://h", "h:25", "smtp://é"],
    ),
    "BERTH_EMAIL_FROM": (
        ["berth@example.org", "Berth <berth@example.org>", '"Bérth, Inc." <b@example.org>', "berth@localhost",
         "berth@[10.0.0.7]"],
        ["nonsense", "Berth", "a@b@c.org", "a@b\nBcc: x@y.org", "a@b.org, c@d.org", "<>", "Berth <berth>",
         "é@example.org", "Berth <berth@example.org> x <y@z.org>"],
    ),
    "BERTH_EVENTS_DAYS": (["1", "3650"], ["0", *DAYS]),
    "BERTH_USAGE_DAYS": (["62", "3650"], ["61", *DAYS]),
    "BERTH_BACKUP_DAYS": (["0", "3650"], DAYS),
    "BERTH_METRICS_TOKEN": (["0123456789abcdef01234567"], ["short", "é" * 24, "words with spaces inside", "x" * 5000]),
}  # fmt: skip
