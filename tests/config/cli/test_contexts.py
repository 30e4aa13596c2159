"""The settings on a user's machine: in a private file, complete at any time,
and each token for its own installation."""

import json
import threading
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from berth_cli.contexts import Context, change_contexts, choose_context, read_contexts
from berth_cli.errors import UsageError
from tests.certificates import make_authority
from tests.config.cli.conftest import Berth
from tests.config.cli.other_end import OtherEnd

pytestmark = pytest.mark.one_database


def keep(name: str, *, email: str = "") -> None:
    context = Context(name=name, url=f"https://{name}", token=f"berth_{name}", email=email)
    change_contexts(lambda found: found.with_one(context))


def test_a_command_addresses_one_of_several_installations(berth: Berth) -> None:
    keep("a.example.org", email="alice@example.com")
    keep("b.example.org")
    assert choose_context().url == "https://b.example.org"
    assert berth("context", "a.example.org").code == 0
    assert choose_context().token == "berth_a.example.org"
    assert choose_context(name="b.example.org").token == "berth_b.example.org"
    assert [line[0] for line in berth("context").out.splitlines()[1:]] == ["*", " "]
    assert "berth_" not in berth("context", "--json").out + repr(read_contexts())
    assert berth("context", "c").code == 2


@pytest.mark.parametrize("token", ["", "berth_of_the_url"])
def test_a_token_stays_with_its_installation(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    """No matter how many are given at once: --context, else BERTH_CONTEXT, else BERTH_URL, else the current one."""
    keep("option")
    keep("variable")
    monkeypatch.setenv("BERTH_TOKEN", token)
    for option, variable, url, current in product(
        ("", "option"), ("", "variable"), ("", "url", "option"), (False, True)
    ):
        change_contexts(lambda found: replace(found, current=""))
        if current:
            keep("current")
        monkeypatch.setenv("BERTH_CONTEXT", variable)
        monkeypatch.setenv("BERTH_URL", url and f"https://{url}")
        named = option or variable or ("" if url or not current else "current")
        if not named and not url:
            with pytest.raises(UsageError):
                choose_context(name=option)
            continue
        chosen = choose_context(name=option)
        assert (chosen.name, chosen.url) == (named, f"https://{named or url}")
        assert chosen.token == (f"berth_{named}" if named else token)


def test_a_named_installation_gets_only_its_own_token(berth: Berth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_URL", "https://a.example.org")
    monkeypatch.setenv("BERTH_TOKEN", "berth_of_a")
    with OtherEnd() as other_end:
        change_contexts(lambda found: found.with_one(Context(name="b", url=other_end.url, token="berth_of_b")))
        assert berth("list", "--context", "b").code == 0
    assert [request.headers["authorization"] for request in other_end.seen] == ["Bearer berth_of_b"]
    told = " ".join(berth("-h").out.split())
    assert "the token is sent only to that address" in told
    assert "1 refused, or the agent does not run well (degraded included)" in told


def test_many_changes_at_once_are_all_kept() -> None:
    threads = [threading.Thread(target=keep, args=[f"{number}.example.org"]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_contexts().known) == 8


def test_a_file_that_others_could_read_is_closed(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    keep("a.example.org")
    file = home / "berth" / "contexts.json"
    file.chmod(0o644)
    read_contexts()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "create new keys" in capfd.readouterr().err


def test_a_file_in_another_place_stays_there(home: Path) -> None:
    keep("a.example.org")
    file = home / "berth" / "contexts.json"
    file.rename(home / "elsewhere.json")
    file.symlink_to(home / "elsewhere.json")
    keep("b.example.org")
    assert file.is_symlink()
    assert len(json.loads((home / "elsewhere.json").read_text())["contexts"]) == 2


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"contexts": 5}', '{"contexts": {"a": 5}}', "\x00", '{"contexts": {"a": {}}}']
)
def test_a_damaged_file_is_reported(berth: Berth, home: Path, content: str) -> None:
    (home / "berth").mkdir()
    (home / "berth" / "contexts.json").write_text(content)
    (home / "berth" / "contexts.json").chmod(0o600)
    done = berth("list")
    assert done.code == 1
    assert "is damaged" in done.err


def test_a_full_or_closed_disk_is_a_sentence(berth: Berth, home: Path) -> None:
    (home / "berth").write_text("a file in the place of the folder")
    with OtherEnd() as other_end:
        (home / "key").write_text("berth_x")
        done = berth("login", other_end.url, "--key-file", str(home / "key"))
    assert done.code == 1
    assert done.err.count("\n") == 1


def test_a_private_certificate_is_trusted_only_if_named(
    berth: Berth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = make_authority(tmp_path)
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")
    with OtherEnd() as other_end:
        assert other_end._server is not None
        other_end._server.socket = authority.server_context().wrap_socket(other_end._server.socket, server_side=True)
        monkeypatch.setenv("BERTH_URL", f"https://localhost:{other_end.port}")
        assert "The certificate of localhost" in berth("list").err
        assert other_end.seen == []
        assert berth("list", "--ca", str(authority.certificate)).code == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
        assert berth("list").code == 0
        assert "cannot be read" in berth("list", "--ca", "/nowhere").err
