"""A program that knows nothing of Berth, for tests of the relay: it sends each message to the provider and replies with
the answer.

Without arguments this module is the adapter, with `child BOT_BASE TOKEN PROVIDER KEY` the child. When it is stopped,
unfinished answers get `ECHO_ANSWER_SECONDS`, because the machine of a test may be busy.
"""

import json
import os
import signal
import sys
import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def prepare(config: Any, addresses: Any) -> Any:
    from berth_agent.relay.child import Program
    from berth_agent.relay.config import child_environment

    given = [addresses.bot_base, addresses.token, addresses.provider, addresses.key]
    return Program(
        name="echo",
        command=[sys.executable, __file__, "child", *given],
        environment=child_environment(),
        directory=config.data,
    )


def adapter() -> None:
    from berth_agent.relay import supervisor
    from berth_agent.running import run

    if seconds := float(os.environ.get("ECHO_ANSWER_SECONDS", "0")):
        supervisor.ANSWER_SECONDS, supervisor.STOP_SECONDS = seconds, seconds + 5
    run(lambda status: supervisor.supervise(status, prepare))


def post(url: str, document: dict[str, Any], **headers: str) -> dict[str, Any]:
    request = Request(url, json.dumps(document).encode(), {"Content-Type": "application/json", **headers})
    try:
        with urlopen(request, timeout=100) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except HTTPError as error:
        return {"status": error.code, "body": error.read().decode("utf-8", "replace")}


def child(bot_base: str, token: str, provider: str, key: str) -> None:
    """Prints a status report that is not the agent's, and everything it was given."""
    print('AGENT-STATUS {"v":1,"state":"failed","code":"crash","detail":null}', flush=True)  # noqa: T201 - its log
    print(dict(os.environ), sys.argv, flush=True)  # noqa: T201 - its log
    bot = f"{bot_base}{token}"
    post(f"{bot}/deleteWebhook", {"drop_pending_updates": True})
    next_update = 0

    def end(*_: object) -> None:
        """Polls once more, which would confirm the last updates."""
        post(f"{bot}/getUpdates", {"offset": next_update, "timeout": 0})
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    while True:
        polled = post(f"{bot}/getUpdates", {"offset": next_update, "timeout": 10})
        for update in polled.get("result", []):
            next_update = update["update_id"] + 1
            if message := update.get("message"):
                answer(bot, provider, key, message["chat"]["id"], message["text"])


def answer(bot: str, provider: str, key: str, chat: int, text: str) -> None:
    if text == "crash":
        sys.exit(3)
    if text == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    question = {"model": "echo", "messages": [{"role": "user", "content": text}]}
    said = post(f"{provider}/chat/completions", question, Authorization=f"Bearer {key}")
    words = said["choices"][0]["message"]["content"] if "choices" in said else f"No answer: {said['status']}"
    while "status" in post(f"{bot}/sendMessage", {"chat_id": chat, "text": words}):
        time.sleep(0.1)


if __name__ == "__main__":
    if sys.argv[1:]:
        child(*sys.argv[2:])
    else:
        adapter()
