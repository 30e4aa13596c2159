"""Writes a request of the API as a curl command, in Python and in JavaScript."""

import json
import shlex
from dataclasses import dataclass
from pprint import pformat
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A request: its full address, whether it needs a token, its JSON body if any, and the kind of its answer."""

    method: str
    url: str
    takes_token: bool
    body: Any = None
    answers: str = "json"  # or `text`, or `nothing`


def write_samples(call: Call) -> list[tuple[str, str]]:
    """Returns pairs of a language and the request in it. The token comes from the environment."""
    return [("curl", write_curl(call)), ("Python", _write_python(call)), ("JavaScript", _write_javascript(call))]


def write_curl(call: Call) -> str:
    """Returns the request as a shell command."""
    words = ["curl -s" if call.method == "GET" else f"curl -s -X {call.method}", shlex.quote(call.url)]
    if call.takes_token:
        words.append('-H "Authorization: Bearer $BERTH_TOKEN"')
    if call.body is not None:
        words += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(json.dumps(call.body, indent=2))}"]
    return f"{words[0]} " + " \\\n  ".join(words[1:])


def _write_python(call: Call) -> str:
    headers = """    headers={"Authorization": f"Bearer {os.environ['BERTH_TOKEN']}"},\n""" if call.takes_token else ""
    imports = "import os\n\n" if call.takes_token else ""
    body = "" if call.body is None else f"    json={_indent(pformat(call.body, sort_dicts=False, width=90), 9)},\n"
    result = {"json": "answer.json()", "text": "answer.text", "nothing": "answer.status_code"}[call.answers]
    given = f"    {json.dumps(call.url)},\n{headers}{body}    timeout=60,\n"
    return (
        f"{imports}import requests\n\nanswer = requests.{call.method.lower()}(\n{given})\n"
        f"answer.raise_for_status()\nprint({result})"
    )


def _write_javascript(call: Call) -> str:
    headers = ["Authorization: `Bearer ${process.env.BERTH_TOKEN}`"] if call.takes_token else []
    options = [] if call.method == "GET" else [f'  method: "{call.method}",\n']
    if call.body is not None:
        headers.append('"Content-Type": "application/json"')
    if headers:
        options.append(f"  headers: {{ {', '.join(headers)} }},\n")
    if call.body is not None:
        options.append(f"  body: JSON.stringify({_indent(json.dumps(call.body, indent=2), 2)}),\n")
    result = {"json": "await answer.json()", "text": "await answer.text()", "nothing": "answer.status"}[call.answers]
    given = f", {{\n{''.join(options)}}}" if options else ""
    return f"const answer = await fetch({json.dumps(call.url)}{given});\nconsole.log({result});"


def _indent(text: str, by: int) -> str:
    """Indents all lines except the first."""
    return text.replace("\n", "\n" + " " * by)
