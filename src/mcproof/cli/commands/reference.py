"""`mcproof completion`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from mcproof.checks.rule import FAULTS, RULESETS, all_rules
from mcproof.cli.introspection import all_commands
from mcproof.cli.parser import Parser
from mcproof.core.errors import OK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.cli.introspection import Argument, CommandArguments

COMPLETION_EXAMPLES = """\
eval "$(mcproof completion bash)"  in ~/.bashrc
mcproof completion zsh > ~/.zfunc/_mcproof  a folder of $fpath, then compinit
mcproof completion fish > ~/.config/fish/completions/mcproof.fish
"""
_RULE_VALUES = ("RULE", "ID")
"""The placeholders of values that are rules."""


def completion_parser() -> Parser:
    parser = Parser(
        "completion",
        "Print a shell script that completes commands, options and rules.",
        usage="{bash,zsh,fish}",
        examples=COMPLETION_EXAMPLES,
    )
    parser.add_argument("shell", choices=list(SCRIPTS), help="the shell")
    return parser


def completion_command(arguments: list[str]) -> int:
    shell = completion_parser().parse_args(arguments).shell
    sys.stdout.write("\n".join(SCRIPTS[shell]()) + "\n")
    return OK


def _rules() -> list[str]:
    return [*RULESETS, *(rule.id for rule in all_rules())]


def _words_of(argument: Argument) -> list[str]:
    """The possible values of an argument, if they are a closed list."""
    if argument.value in _RULE_VALUES:
        return [*_rules(), *(FAULTS if argument.value == "ID" else ())]
    if "--ruleset" in argument.flags:
        return [*RULESETS, "all"]
    return list(argument.choices)


def _bash() -> Iterator[str]:
    commands = all_commands()
    yield from (
        '# Completion of mcproof for bash: eval "$(mcproof completion bash)"',
        "_mcproof() {",
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}",
        '    local words="" flags=""',
        "    COMPREPLY=()",
        "    if [[ $COMP_CWORD -eq 1 ]]; then",
        f'        words="{" ".join([*(each.name for each in commands), "--help", "--version"])}"',
        "    else",
        '        case "$command $before" in',
    )
    for each in commands:
        for option in each.options:
            for flag in option.flags:
                if words := _words_of(option):
                    yield f'            "{each.name} {flag}") words="{" ".join(words)}" ;;'
                elif option.value:
                    yield f'            "{each.name} {flag}") ;;'
    yield from ("            *)", '                case "$command" in')
    for each in commands:
        flags = [flag for option in each.options for flag in option.flags]
        values = [word for positional in each.positionals for word in _words_of(positional)]
        yield f'                    {each.name}) words="{" ".join(values)}" flags="{" ".join(flags)}" ;;'
    yield from (
        "                esac ;;",
        "        esac",
        "    fi",
        "    if [[ $word == -* && -n $flags ]]; then words=$flags; fi",
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "}",
        "complete -o default -F _mcproof mcproof",
    )


def _zsh() -> Iterator[str]:
    yield from (
        "#compdef mcproof",
        "# Completion of mcproof for zsh.",
        "_mcproof() {",
        "    local -a commands",
        "    commands=(",
    )
    for each in all_commands():
        yield f"        {_single_quoted(f'{each.name}:{each.summary}')}"
    yield from (
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
        "    case $command in",
    )
    for each in all_commands():
        specs = [spec for option in each.options for spec in _zsh_option(option)]
        specs += [_zsh_positional(positional) for positional in each.positionals]
        yield f"        {each.name}) _arguments {' '.join(map(_single_quoted, specs))} ;;"
    yield from ("    esac", "}", '_mcproof "$@"')


def _zsh_option(option: Argument) -> Iterator[str]:
    for flag in option.flags:
        many = "*" if option.repeatable else ""
        value = f":{_zsh_text(option.value)}:{_zsh_words(option)}" if option.value else ""
        yield f"{many}{flag}[{_zsh_text(option.help)}]{value}"


def _zsh_positional(positional: Argument) -> str:
    return f"{'*' if positional.repeatable else ''}:{_zsh_text(positional.value)}:{_zsh_words(positional)}"


def _zsh_words(argument: Argument) -> str:
    words = _words_of(argument)
    return f"({' '.join(words)})" if words else "_files"


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _fish() -> Iterator[str]:
    yield "# Completion of mcproof for fish."
    for each in all_commands():
        name, summary = each.name, _single_quoted(each.summary)
        yield f"complete -c mcproof -f -n __fish_use_subcommand -a {name} -d {summary}"
        for option in each.options:
            yield from _fish_option(each, option)
        for positional in each.positionals:
            if words := _words_of(positional):
                listed = _single_quoted(" ".join(words))
                yield f"complete -c mcproof -f -n '__fish_seen_subcommand_from {name}' -a {listed}"
            else:
                yield f"complete -c mcproof -F -n '__fish_seen_subcommand_from {name}'"


def _fish_option(command: CommandArguments, option: Argument) -> Iterator[str]:
    names = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    words = _words_of(option)
    value = f" -x -a {_single_quoted(' '.join(words))}" if words else " -r -F" if option.value else ""
    condition = f"'__fish_seen_subcommand_from {command.name}'"
    yield f"complete -c mcproof -n {condition} {names}{value} -d {_single_quoted(option.help)}"


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
