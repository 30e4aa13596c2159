"""berth completion: answers bash, zsh and fish while the user types."""

from __future__ import annotations

import argparse
from contextlib import suppress

from berth_cli.api import Api
from berth_cli.arguments import make_parser
from berth_cli.contexts import choose_context, read_contexts
from berth_cli.documents import as_rows, text
from berth_cli.errors import CommandError
from berth_cli.output import Output

WITHIN = 2.0
"""Seconds for the names of projects. Nobody who types waits longer."""

SHELLS = {
    "bash": """_berth() {
  local IFS=$'\\n'
  COMPREPLY=()
  local line
  while read -r line; do
    [[ $line == "${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$(printf '%q' "$line")")
  done < <(berth __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}
complete -o default -F _berth berth""",
    "zsh": """#compdef berth
_berth() {
  local -a found
  found=("${(@f)$(berth __complete "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  compadd -a found
}
compdef _berth berth""",
    "fish": """function __berth
  set -l words (commandline -opc)
  berth __complete $words[2..-1] 2>/dev/null
end
complete -c berth -f -a '(__berth)'""",
}

ON_PROJECTS = {
    "status", "start", "stop", "restart", "logs", "stats", "usage", "update", "rm", "change"
}  # fmt: skip


def write_script(options: argparse.Namespace, out: Output) -> int:
    out.line(SHELLS[options.shell])
    return 0


def complete(words: list[str]) -> list[str]:
    """Returns the words that may follow these."""
    commands = _commands()
    command = next((word for word in words if word in commands), None)
    if words and words[-1] == "--context":
        with suppress(CommandError):
            return sorted(read_contexts().known)
        return []
    if command is None:
        return sorted(commands)
    actions = commands[command]._actions  # noqa: SLF001 - argparse has no other list of them
    options = [option for action in actions for option in action.option_strings if option.startswith("--")]
    choices = [str(choice) for action in actions for choice in (action.choices or ()) if not action.option_strings]
    if command == "context":
        with suppress(CommandError):
            choices = sorted(read_contexts().known)
    return [*choices, *(_names() if command in ON_PROJECTS else []), *sorted(set(options))]


def _commands() -> dict[str, argparse.ArgumentParser]:
    found = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001 - argparse has no other way
    return dict(found.choices)


def _names() -> list[str]:
    with suppress(CommandError):
        api = Api(choose_context(), warn=lambda _sentence: None)
        rows = as_rows(api.call("GET", "projects", patience=0, within=WITHIN).content)
        return sorted({text(row, "name") for row in rows if text(row, "name").isprintable()})
    return []
