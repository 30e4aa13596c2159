"""Keys that a login creates, a rotation replaces and a logout revokes: no unknown key stays valid."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from berth_cli.contexts import Context, Contexts, change_contexts, read_contexts
from tests.config.cli.conftest import Berth, Done
from tests.config.cli.other_end import OtherEnd, refuse
from tests.fakes.messages import Answer, Request

pytestmark = pytest.mark.one_database

EMAIL = "alice@example.com"


@pytest.fixture
def other_end() -> Iterator[OtherEnd]:
    with OtherEnd() as server:
        yield server


@pytest.fixture
def signed_in(berth: Berth, tmp_path: Path) -> Callable[..., Done]:
    """Runs a command that requires signing in."""
    (tmp_path / "password").write_text("of nobody")
    return lambda *words: berth(*words, "--email", EMAIL, "--password-file", str(tmp_path / "password"))


def keep(url: str, *, key_id: str, email: str = EMAIL) -> None:
    context = Context(name="here", url=url, token=f"berth_{key_id or 'given'}", key_id=key_id, email=email)
    change_contexts(lambda found: found.with_one(context))


def revoked(other_end: OtherEnd) -> list[str]:
    return [request.path.rpartition("/")[2] for request in other_end.seen if request.method == "DELETE"]


def test_a_key_not_created_by_login_is_reported_as_still_valid(
    signed_in: Callable[..., Done], other_end: OtherEnd
) -> None:
    keep(other_end.url, key_id="")
    done = signed_in("logout", "--revoke")
    assert done.code == 1
    assert "The key itself still works" in done.err
    assert read_contexts().known == {}


@pytest.mark.parametrize(("owner", "code"), [(EMAIL, 0), ("bob@example.com", 1)])
def test_a_key_that_is_gone_is_forgotten(
    signed_in: Callable[..., Done], other_end: OtherEnd, owner: str, code: int
) -> None:
    """If its owner cannot find it, nobody else could, even if it exists."""
    keep(other_end.url, key_id="one", email=owner)
    other_end.respond = lambda request: refuse(404, "not_found", "No.") if request.method == "DELETE" else None
    done = signed_in("logout", "--revoke")
    assert done.code == code, done.err
    assert len(read_contexts().known) == code
    assert f"The key belongs to {owner}" in done.err if code else done.err == ""


@pytest.mark.parametrize("happens", ["another login has come", "another logout has come"])
def test_a_logout_forgets_only_its_own_token(signed_in: Callable[..., Done], other_end: OtherEnd, happens: str) -> None:
    def respond(request: Request) -> Answer | None:
        if request.method == "DELETE" and "login" in happens:
            keep(other_end.url, key_id="other")
        elif request.method == "DELETE":
            change_contexts(lambda _: Contexts())
        return None

    keep(other_end.url, key_id="one")
    other_end.respond = respond
    done = signed_in("logout", "--revoke")
    assert revoked(other_end) == ["one"]
    kept = [context.key_id for context in read_contexts().known.values()]
    assert (done.code, kept) == ((1, ["other"]) if "login" in happens else (0, [])), done


def test_one_key_of_two_simultaneous_logins_is_kept(signed_in: Callable[..., Done], other_end: OtherEnd) -> None:
    """The other login has stored its key and revoked the previous one, while this one was requesting its own."""

    def respond(request: Request) -> Answer | None:
        if (request.method, request.path) == ("POST", "/api/auth/keys"):
            keep(other_end.url, key_id="other")
        return None

    keep(other_end.url, key_id="former")
    other_end.respond = respond
    assert signed_in("login", other_end.url, "--context", "here").code == 0
    assert revoked(other_end) == ["other"]


@pytest.mark.parametrize("key_id", ["one", ""])
@pytest.mark.parametrize("takes_key", [False, True])
def test_a_displaced_key_is_reported(
    berth: Berth, signed_in: Callable[..., Done], other_end: OtherEnd, tmp_path: Path, key_id: str, takes_key: bool
) -> None:
    """There is no session of another installation with the same name, so its key cannot be revoked."""
    keep("https://elsewhere.example.org", key_id=key_id)
    (tmp_path / "key").write_text("berth_x")
    words = ("login", other_end.url, "--context", "here")
    done = berth(*words, "--key-file", str(tmp_path / "key")) if takes_key else signed_in(*words)
    told = f"The key that this machine had for {EMAIL} at https://elsewhere.example.org works until they revoke it.\n"
    assert (done.code, done.err) == (0, told)
    assert revoked(other_end) == []


def test_the_same_key_again_is_not_reported_as_still_valid(berth: Berth, other_end: OtherEnd, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("berth_x")
    done = [berth("login", other_end.url, "--key-file", str(tmp_path / "key")) for _ in range(2)]
    assert [(each.code, each.err) for each in done] == [(0, "")] * 2


@pytest.mark.parametrize("happens", ["the disk is full", "another login has come between"])
def test_a_rotated_key_that_cannot_be_kept_is_shown(
    signed_in: Callable[..., Done], other_end: OtherEnd, monkeypatch: pytest.MonkeyPatch, happens: str
) -> None:
    def respond(request: Request) -> Answer | None:
        if not request.path.endswith("/rotate"):
            return None
        if happens == "the disk is full":
            monkeypatch.setattr("berth_cli.contexts.write_whole", _fill)
        else:
            keep(other_end.url, key_id="other")
        return Answer.json(200, {"id": "two", "key": "berth_two"})

    keep(other_end.url, key_id="one")
    other_end.respond = respond
    done = signed_in("keys", "rotate")
    assert (done.code, done.out) == (1, "berth_two\n")
    assert "could not be saved, and is shown this once" in done.err
    assert read_contexts().known["here"].key_id == ("one" if "disk" in happens else "other")


def _fill(*_about: object) -> None:
    raise OSError(28, "No space left on device")
