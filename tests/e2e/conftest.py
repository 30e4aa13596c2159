"""A service with a fake Telegram and a fake provider, from an empty folder."""

from base64 import b64decode
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.e2e.browsing import open_browser
from tests.e2e.service import Service, copy_checkout, make_environment
from tests.engines import address_of_host
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_files import upload
from tests.leftovers import remove_leftovers
from tests.paths import ROOT

PICTURE = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
"""A PNG of one pixel."""


@pytest.fixture(scope="package")
def host() -> str:
    return address_of_host()


@pytest.fixture(scope="package")
def telegram(host: str) -> Iterator[FakeTelegram]:
    with FakeTelegram(host=host) as fake:
        fake.add_bot(CANARY_TELEGRAM_TOKEN, username="harbour_bot")
        other = fake.add_bot(CANARY_OTHER_TELEGRAM_TOKEN, username="other_bot")
        other.picture = upload(other, PICTURE)["file_id"]
        yield fake


@pytest.fixture(scope="package")
def provider(host: str) -> Iterator[FakeProvider]:
    with FakeProvider(host=host) as fake:
        fake.add_key(CANARY_API_KEY)
        fake.add_key(CANARY_OTHER_API_KEY)
        yield fake


@pytest.fixture(scope="package")
def service(
    telegram: FakeTelegram,
    provider: FakeProvider,
    host: str,
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
) -> Iterator[Service]:
    """Its environment is installed from scratch, except in the whole test command of two out of three commits."""
    folder = tmp_path_factory.mktemp("newcomer")
    copy_checkout(folder)
    is_made = (ROOT / ".venv/bin/uv").exists()
    if is_made and pytestconfig.getoption("--beside") and pytestconfig.getoption("--sample-seed") % 3:
        (folder / ".venv").symlink_to(ROOT / ".venv")
    allow = [f"{host}/32:{fake.port}" for fake in (telegram, provider)]
    environment = make_environment(folder, telegram=telegram.url, provider=provider.api_base, allow=allow)
    service = Service(folder, environment, checkout=folder)
    try:
        service.start()
        yield service
    finally:
        service.interrupt_if_running()
        service.engine.close()
        remove_leftovers(environment)


@pytest.fixture
def page(service: Service) -> Iterator[Page]:
    with open_browser(service.address) as page:
        yield page
