"""An agent of a few lines, as a program in an image: it polls for messages, and answers each as the provider says.

Each process tells the Bot API who it is by the `limit` of its polls.
"""

import json
import os
import random
import signal
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

SECRETS = Path("/run/secrets")
ME = random.randrange(2, 100)


def ask(url: str, body: dict[str, Any], **headers: str) -> Any:
    given = json.dumps(body).encode()
    with urllib.request.urlopen(
        urllib.request.Request(url, given, {"Content-Type": "application/json", **headers}), timeout=70
    ) as answer:
        return json.load(answer)


def main() -> None:
    token, key = ((SECRETS / name).read_text().strip() for name in ("telegram_bot_token", "agent_api_key"))
    bot, llm = f"{os.environ['TELEGRAM_API_BASE']}/bot{token}", os.environ["AGENT_API_BASE"]
    sys.stdout.write('AGENT-STATUS {"v":1,"state":"running","code":"","detail":""}\n')
    sys.stdout.flush()
    offset = 0
    while True:
        try:
            for update in ask(f"{bot}/getUpdates", {"timeout": 50, "limit": ME, "offset": offset})["result"]:
                offset = update["update_id"] + 1
                said = [{"role": "user", "content": update["message"]["text"]}]
                answer = ask(f"{llm}/chat/completions", {"model": "m", "messages": said}, Authorization=f"Bearer {key}")
                text = answer["choices"][0]["message"]["content"]
                ask(f"{bot}/sendMessage", {"chat_id": update["message"]["chat"]["id"], "text": text})
        except OSError as error:
            sys.stdout.write(f"{error}\n")
            sys.stdout.flush()
            time.sleep(0.5)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    main()
