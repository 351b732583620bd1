"""`deepprompt completion`: a script that completes commands, options and values in bash, zsh or fish.

The script is generated from the parsers and contains everything, so completing starts no Python. Every text from a
parser is quoted for its place in the script, so none of it can run in a shell.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence

from deepprompt.commands import COMMANDS
from deepprompt.commands.output import write
from deepprompt.commands.parsers import Argument, Command, read_commands

_HEAD = "deepprompt, completed by {0}: written by 'deepprompt completion {0}'; write it again after an upgrade"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `completion`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _INSTALL
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SCRIPTS), help="bash, zsh or fish")


_INSTALL = """\
To install it for bash:
  deepprompt completion bash >~/.deepprompt.bash
  echo '. ~/.deepprompt.bash' >>~/.bashrc

for zsh:
  mkdir -p ~/.zfunc && deepprompt completion zsh >~/.zfunc/_deepprompt
  echo 'fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit' >>~/.zshrc

for fish:
  mkdir -p ~/.config/fish/completions
  deepprompt completion fish >~/.config/fish/completions/deepprompt.fish

Shells that you start after that complete deepprompt. Write the script again
after an upgrade of deepprompt."""


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    write(SCRIPTS[options.shell](read_commands(options.parsers(list(COMMANDS), list(COMMANDS)))))
    return 0


_BASH = """\
# {head}
_deepprompt() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} last=$((COMP_CWORD - 1)) equals= command= paths=none word
    ((COMP_CWORD > 1)) && command=${{COMP_WORDS[1]}}
    # To bash --to=anthropic is three words, and so is NAME=PATH.
    if [[ $current == = ]]; then
        current= equals=1
    elif [[ ${{COMP_WORDS[last]}} == = ]]; then
        ((last--))
        equals=1
    fi
    [[ $equals && ${{COMP_WORDS[last]}} != -* ]] && ((last > 1)) && ((last--))
    COMPREPLY=()
    set --
    case "$command ${{COMP_WORDS[last]}}" in
    *[\\<\\>])
        paths=files
        ;;
{cases}
    esac
    for word; do
        if [[ $word == "$current"* ]] && [[ $paths == none || $current == -* ]]; then
            COMPREPLY+=("$word")
        fi
    done
    # Where there is nothing to offer, readline completes files, and quotes them as it should. An old bash has no
    # compopt, and offers files everywhere.
    case $paths in
    none) compopt +o default +o bashdefault 2>/dev/null ;;
    folders) compopt -o dirnames +o default +o bashdefault 2>/dev/null ;;
    esac
    return 0
}}
complete -o bashdefault -o default -F _deepprompt deepprompt
"""


def _bash(commands: list[Command]) -> str:
    return _BASH.format(head=_HEAD.format("bash"), cases="\n".join(_bash_cases(commands)))


def _bash_cases(commands: list[Command]) -> Iterator[str]:
    """Yield the cases of each command: what may follow each option with a value, and what may stand elsewhere."""
    for command in commands:
        after: dict[str, list[str]] = {}
        for option in command.options:
            if option.value:
                patterns = [shlex.quote(f"{command.name} {name}") for name in option.names]
                after.setdefault(_bash_offer(option.choices, option.path), []).extend(patterns)
        names = [name for option in command.options for name in option.names]
        values = [choice for argument in command.positionals for choice in argument.choices]
        if not command.name:
            values = [other.name for other in commands if other.name]
        path = next((argument.path for argument in command.positionals if argument.path), "")
        after[_bash_offer([*values, *names], path)] = [shlex.quote(command.name + " ") + "*"]
        for offer, patterns in after.items():
            yield f"    {' | '.join(patterns)})\n        {offer}\n        ;;"


def _bash_offer(words: Sequence[str], path: str) -> str:
    offer = [f"set -- {shlex.join(words)}"] if words else []
    return "; ".join([*offer, f"paths={path}s"] if path else offer) or ":"


_ZSH = """\
#compdef deepprompt
# {head}
_deepprompt() {{
    local -a commands
    commands=(
{commands}
    )
    if ((CURRENT == 2)); then
        _arguments -S {program} ':command:{{_describe -t commands command commands}}'
        return
    fi
    shift words
    ((CURRENT--))
    case $words[1] in
{cases}
    esac
}}
# Loaded by compinit this is the body of the function; read with '.', only its definition.
if [[ $funcstack[1] == _deepprompt ]]; then
    _deepprompt "$@"
else
    compdef _deepprompt deepprompt
fi
"""


def _zsh(commands: list[Command]) -> str:
    program, *others = commands
    described = [shlex.quote(f"{command.name}:{command.summary}") for command in others]
    cases = []
    for command in others:
        specs = [*_zsh_options(command), *map(_zsh_positional, command.positionals)]
        lines = " \\\n".join(f"            {shlex.quote(spec)}" for spec in specs)
        cases.append(f"    {shlex.quote(command.name)})\n        _arguments -S \\\n{lines}\n        ;;")
    return _ZSH.format(
        head=_HEAD.format("zsh"),
        commands="\n".join(f"        {line}" for line in described),
        program=" ".join(map(shlex.quote, _zsh_options(program))),
        cases="\n".join(cases),
    )


def _zsh_options(command: Command) -> Iterator[str]:
    for option in command.options:
        excluded = " ".join((*option.excludes, *(() if option.repeated else option.names)))
        once = "*" if option.repeated else f"({excluded})"
        for name in option.names:
            equals = "=" if option.value and name.startswith("--") else ""
            yield f"{once}{name}{equals}[{_escape(option.help, '[]')}]{_zsh_value(option)}"


def _zsh_positional(argument: Argument) -> str:
    return ("*" if argument.repeated else "" if argument.required else ":") + _zsh_value(argument)


def _zsh_value(argument: Argument) -> str:
    if not argument.value:
        return ""
    action = {"file": "_files", "folder": "_files -/", "": " "}[argument.path]
    if argument.choices:  # zsh reads them once more as words of the shell
        action = "(" + " ".join(re.sub(r"([^\w./@-])", r"\\\1", choice) for choice in argument.choices) + ")"
    elif argument.path and "=" in argument.value:
        action = f'{{compset -P "*="; {action}}}'
    return f":{_escape(argument.value, ':')}:{action}"


def _escape(text: str, special: str) -> str:
    return "".join("\\" + character if character in special + "\\" else character for character in text)


_FISH = """\
# {head}
function __deepprompt_in --argument-names command
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    test "$words[2]" = "$command"
end
complete --command deepprompt --no-files
{lines}
"""


def _fish(commands: list[Command]) -> str:
    return _FISH.format(head=_HEAD.format("fish"), lines="\n".join(_fish_lines(commands)))


def _fish_lines(commands: list[Command]) -> Iterator[str]:
    program, *others = commands
    for command in others:
        yield f"{_fish_in('')} --arguments {_fish_words([command.name])} --description {_fish_quote(command.summary)}"
    for command in (program, *others):
        for option in command.options:
            names = [f"--{'long' if name[1] == '-' else 'short'}-option {name.lstrip('-')}" for name in option.names]
            if option.value:
                names.append("--require-parameter" if option.path == "file" else "--exclusive")
            described = f"--description {_fish_quote(option.help)}"
            yield f"{_fish_in(command.name)} {' '.join(names)}{_fish_values(option)} {described}"
        for argument in command.positionals:
            if values := _fish_values(argument):
                yield _fish_in(command.name) + values


def _fish_in(command: str) -> str:
    return f"complete --command deepprompt --condition {_fish_quote('__deepprompt_in ' + _fish_quote(command))}"


def _fish_values(argument: Argument) -> str:
    if argument.choices:
        return f" --arguments {_fish_words(argument.choices)}"
    return {"file": " --force-files", "folder": " --arguments '(__fish_complete_directories)'", "": ""}[argument.path]


def _fish_words(words: Sequence[str]) -> str:
    """Quote words twice: fish reads the list once as a string, and once more as words."""
    return _fish_quote(" ".join(map(_fish_quote, words)))


def _fish_quote(text: str) -> str:
    return text if re.fullmatch(r"[\w./@-]+", text, re.ASCII) else "'" + _escape(text, "'") + "'"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
