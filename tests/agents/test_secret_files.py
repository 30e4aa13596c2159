"""How the assistant reads the files with its secrets."""

from pathlib import Path

import pytest


def test_a_secret_file_that_cannot_be_read_does_not_open_the_agent(tmp_path: Path) -> None:
    from assistant.config import read_config

    from berth_agent.outcome import FatalError

    for name, content in (("telegram_bot_token", "1:x"), ("agent_api_key", "sk-x")):
        (tmp_path / name).write_text(content)
    env = {"AGENT_SECRETS_DIR": str(tmp_path)}
    assert read_config(env).pairing_secret == ""
    file = tmp_path / "pairing_secret"
    file.write_text(" s3cret\n")
    assert read_config(env).pairing_secret == "s3cret"
    assert "s3cret" not in repr(read_config(env))
    for spoil in (lambda: file.write_text(" "), lambda: file.write_bytes(b"\xff"), file.unlink, file.mkdir):
        spoil()
        if not file.exists():
            file.symlink_to("nowhere")
        with pytest.raises(FatalError):
            read_config(env)
        if file.is_symlink():
            file.unlink()
