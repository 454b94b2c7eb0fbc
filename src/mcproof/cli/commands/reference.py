"""Commands that look something up: `explain`, `rules`, `clients`, `advisories`, `schema`, `completion`."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcproof.checks.advisories import advisory_table
from mcproof.checks.clients.profiles import Profile, find_client, known_profiles
from mcproof.checks.fixes.snippets import example_help
from mcproof.checks.rule import FAULTS, RULESETS, VERDICTS, Fault, Rule, Ruleset, all_rules, find_rule, rules_of
from mcproof.checks.rulebook import (
    RuleCase,
    cases_of,
    compact_json,
    facts_of,
    grade_method,
    rule_record,
    rules_of_fault,
    trust_method,
)
from mcproof.checks.scores.grade import LETTERS
from mcproof.cli.command import ARGUMENTS, Command, Option
from mcproof.cli.help import all_commands
from mcproof.cli.main import COMMANDS as SUMMARIES
from mcproof.cli.options import CONFIG, parse_config
from mcproof.cli.outputs import TEXT_OR_JSON
from mcproof.core.console import Style, print_lines, print_note
from mcproof.core.errors import OK, UsageError, nearest
from mcproof.probing.probes.cases import FAULT_OF
from mcproof.report.listings import advisory_document, advisory_lines, client_document, client_page, client_table
from mcproof.runs.records import SCHEMA_VERSION

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from mcproof.runs.requests import SettingsSource


def _advisories(options: argparse.Namespace) -> int:
    table = advisory_table()
    wanted = {name.lower() for name in options.names}
    chosen = [advisory for advisory in table.advisories if not wanted or advisory.package in wanted]
    if options.format == "json":
        sys.stdout.write(json.dumps(advisory_document(chosen, table.checked), indent=2) + "\n")
    else:
        print_lines(advisory_lines(chosen, table.checked, Style.of(sys.stdout)), sys.stdout)
        packages = [advisory.package for advisory in table.advisories]
        for name in sorted(wanted - {advisory.package for advisory in chosen}):
            print_note(f"no advisory about {name} is in the table{nearest(name, packages)}")
    return OK


def _clients(options: argparse.Namespace) -> int:
    profiles = _profiles(parse_config(options))
    names = {profile.id: profile.name for profile in profiles.values()}
    named = dict.fromkeys(find_client(name, names) for name in options.names)
    chosen = [profiles[name] for name in named or profiles]
    if options.format == "json":
        sys.stdout.write(json.dumps(client_document(chosen), indent=2) + "\n")
        return OK
    style = Style.of(sys.stdout)
    if not options.names:
        print_lines(client_table(chosen, style), sys.stdout)
        return OK
    for number, profile in enumerate(chosen):
        print_lines(["\n"] if number else [], sys.stdout)
        print_lines(client_page(profile, profiles, style), sys.stdout)
    return OK


def _profiles(source: SettingsSource) -> Mapping[str, Profile]:
    """The profiles, with those of the configuration of this folder."""
    return source.here().all_profiles or known_profiles()


_RULE_VALUES = ("RULE", "ID")
"""The placeholders of values that are rules."""


def _completion(options: argparse.Namespace) -> int:
    sys.stdout.write("\n".join(SCRIPTS[options.shell]()) + "\n")
    return OK


def _rules() -> list[str]:
    return [*RULESETS, *(rule.id for rule in all_rules())]


def _words_of(argument: Option) -> list[str]:
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
        f'        words="{" ".join([*(command.name for command in commands), "--help", "--version"])}"',
        "    else",
        '        case "$command $before" in',
    )
    for command in commands:
        for option in command.listed:
            for flag in option.flags:
                if words := _words_of(option):
                    yield f'            "{command.name} {flag}") words="{" ".join(words)}" ;;'
                elif option.value:
                    yield f'            "{command.name} {flag}") ;;'
    yield from ("            *)", '                case "$command" in')
    for command in commands:
        flags = [flag for option in command.listed for flag in option.flags]
        values = [word for positional in command.positionals for word in _words_of(positional)]
        yield f'                    {command.name}) words="{" ".join(values)}" flags="{" ".join(flags)}" ;;'
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
    for command in all_commands():
        yield f"        {_single_quoted(f'{command.name}:{SUMMARIES[command.name]}')}"
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
    for command in all_commands():
        specs = [spec for option in command.listed for spec in _zsh_option(option)]
        specs += [_zsh_positional(positional) for positional in command.positionals]
        yield f"        {command.name}) _arguments {' '.join(map(_single_quoted, specs))} ;;"
    yield from ("    esac", "}", '_mcproof "$@"')


def _zsh_option(option: Option) -> Iterator[str]:
    for flag in option.flags:
        many = "*" if option.is_repeatable else ""
        value = f":{_zsh_text(option.value)}:{_zsh_words(option)}" if option.value else ""
        yield f"{many}{flag}[{_zsh_text(option.help)}]{value}"


def _zsh_positional(positional: Option) -> str:
    return f"{'*' if positional.is_repeatable else ''}:{_zsh_text(positional.value)}:{_zsh_words(positional)}"


def _zsh_words(argument: Option) -> str:
    words = _words_of(argument)
    return f"({' '.join(words)})" if words else "_files"


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _fish() -> Iterator[str]:
    yield "# Completion of mcproof for fish."
    for command in all_commands():
        name, summary = command.name, _single_quoted(SUMMARIES[command.name])
        yield f"complete -c mcproof -f -n __fish_use_subcommand -a {name} -d {summary}"
        for option in command.listed:
            if option.flags:
                yield from _fish_option(command, option)
        for positional in command.positionals:
            if words := _words_of(positional):
                listed = _single_quoted(" ".join(words))
                yield f"complete -c mcproof -f -n '__fish_seen_subcommand_from {name}' -a {listed}"
            else:
                yield f"complete -c mcproof -F -n '__fish_seen_subcommand_from {name}'"


def _fish_option(command: Command, option: Option) -> Iterator[str]:
    names = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    words = _words_of(option)
    value = f" -x -a {_single_quoted(' '.join(words))}" if words else " -r -F" if option.value else ""
    condition = f"'__fish_seen_subcommand_from {command.name}'"
    yield f"complete -c mcproof -n {condition} {names}{value} -d {_single_quoted(option.help)}"


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}


_LISTS = {
    "rules": "all rules, by ruleset",
    "clients": "the MCP clients and model APIs that `compat` knows; with names, every fact about them",
    "advisories": "known vulnerabilities of MCP servers and frameworks; with names, those of these packages",
}
"""What `explain` lists."""


def _explain(options: argparse.Namespace) -> int:
    """Explain an id, or list what there is to explain."""
    topic, *options.names = options.names or [""]
    run = {"rules": _list_rules, "clients": _clients, "advisories": _advisories, "": _list_topics}.get(topic.lower())
    if options.names and topic.lower() not in ("clients", "advisories"):
        raise UsageError(f"one at a time: `mcproof explain {topic}`, then the others")
    if run is not None:
        return run(options)
    options.id = topic
    try:
        return _explain_id(options)
    except UsageError:
        options.names = [topic]
        with suppress(UsageError):  # not a client either, which the rules about it or the error for a rule say
            return _clients(options)
        if options.format == "json" or not (found := _about(topic)):
            raise
    sys.stdout.write(f"No rule is called `{topic}`. Rules about it:\n\n")
    sys.stdout.writelines(f"  mcproof explain {rule.id:31} {rule.summary}\n" for rule in found)
    return OK


def _list_topics(options: argparse.Namespace) -> int:
    """List what can be explained."""
    if options.format == "json":
        return _list_rules(options)
    rulesets = {name: ruleset.summary for name, ruleset in RULESETS.items()}
    style = Style.of(sys.stdout)
    for title, topics in (("Lists", _LISTS), ("Rulesets", rulesets)):
        sys.stdout.write(f"{style.paint(title, 'bold')}\n")
        for name, summary in topics.items():
            sys.stdout.write(f"  mcproof explain {name:12} {summary}\n")
        sys.stdout.write("\n")
    sys.stdout.write("`mcproof explain ID` explains a rule or a fault, such as `tool-no-description`.\n")
    return OK


def _about(word: str) -> list[Rule]:
    """The rules whose id, name or summary has a word that begins like this."""
    has_word = re.compile(rf"(?i)(?<![a-z0-9]){re.escape(word)}").search
    return [rule for rule in all_rules() if any(map(has_word, (rule.id, rule.name, rule.summary)))]


def _explain_id(options: argparse.Namespace) -> int:
    ruleset = RULESETS.get(_OTHER_NAMES.get(options.id.lower(), options.id.lower()))
    fault = FAULTS.get((FAULT_OF.get(options.id.lower()) or options.id).upper())
    if options.format == "json":
        if ruleset is not None:
            record = _ruleset_record(ruleset)
        else:
            record = fault._asdict() if fault is not None else rule_record(find_rule(options.id))
        sys.stdout.write(json.dumps({"schema_version": SCHEMA_VERSION, **record}, indent=2) + "\n")
        return OK
    style = Style.of(sys.stdout)
    if ruleset is not None:
        sys.stdout.write(_ruleset(ruleset, style))
    else:
        sys.stdout.write(_fault(fault, style) if fault is not None else _rule(find_rule(options.id), style))
    return OK


_OTHER_NAMES = {
    **dict.fromkeys(("verdict", "scan", *VERDICTS), "trust"),
    **dict.fromkeys(("letter", *map(str.lower, LETTERS)), "grade"),
}


def _ruleset_record(ruleset: Ruleset) -> dict[str, Any]:
    return {"name": ruleset.name, "summary": ruleset.summary, "rules": [rule.id for rule in rules_of(ruleset.name)]}


_METHODS = {"grade": grade_method, "trust": trust_method}
"""How the scores of rulesets are computed, with their rules."""


def _ruleset(ruleset: Ruleset, style: Style) -> str:
    if ruleset.name in _METHODS:
        lines = _METHODS[ruleset.name]()
    else:
        lines = [f"  {rule.id:31} {rule.summary}" for rule in rules_of(ruleset.name)]
    return f"{style.paint(ruleset.name, 'bold')}\n\n{ruleset.summary}\n\n" + "".join(f"{line}\n" for line in lines)


def _fault(fault: Fault, style: Style) -> str:
    rules = ", ".join(rule.id for rule in rules_of_fault(fault)) or "no rule, only a probe of a live server"
    return f"{style.paint(fault.id, 'bold')}  ({fault.paper})\n\n{fault.summary}\n\nFound by: {rules}\n"


def _rule(rule: Rule, style: Style) -> str:
    title = rule.id if rule.name == rule.id else f"{rule.id} ({rule.name})"
    lines = [style.paint(title, "bold"), "", rule.summary, ""]
    lines += [line for paragraph in rule.details for line in (paragraph, "")]
    width = max(len(label) for label, _ in facts_of(rule))
    lines += [f"  {label:{width}}  {value}" for label, value in facts_of(rule)]
    lines += ["", f"{style.paint('Why', 'bold')}  {rule.why}", f"{style.paint('Fix', 'bold')}  {rule.advice}"]
    for example in example_help(rule.id):
        lines += [f"     {style.paint(f'{example.framework}, {example.place}:', 'dim')}", _indented(example.code, 7)]
    cases = cases_of(rule)
    for heading, listed in (("Reported", cases.bad), ("Not reported", cases.good)):
        lines += ["", style.paint(heading, "bold")]
        for case in listed:
            lines += _case(case, style)
    return "\n".join(lines) + "\n"


def _case(case: RuleCase, style: Style) -> list[str]:
    lines = [f"  {style.paint(case.title, 'dim')}", _indented(case.shown)]
    if case.fixed is not None:
        lines += [f"  {style.paint('after --fix', 'dim')}", _indented(compact_json(case.fixed))]
    return lines


def _indented(text: str, width: int = 4) -> str:
    return "\n".join(f"{' ' * width}{line}" for line in text.splitlines())


def _list_rules(options: argparse.Namespace) -> int:
    if options.format == "json":
        records = [rule_record(rule) for ruleset in RULESETS for rule in rules_of(ruleset)]
        listed = ",\n".join(map(json.dumps, records))
        sys.stdout.write(f'{{"schema_version": {SCHEMA_VERSION},\n"rules": [\n{listed}\n]}}\n')
        return OK
    style = Style.of(sys.stdout)
    for ruleset in RULESETS.values():
        when = "runs by default" if ruleset.is_default else f"opt-in: --ruleset {ruleset.name}"
        sys.stdout.write(f"{style.paint(ruleset.name, 'bold')}  {ruleset.summary} ({when})\n")
        for rule in rules_of(ruleset.name):
            fixable = "fixable" if rule.fixable else ""
            severity = style.paint(f"{rule.severity:9}", rule.level)
            sys.stdout.write(f"  {rule.id:31} {severity} {fixable:8} {rule.summary}\n")
        sys.stdout.write("\n")
    sys.stdout.write("`mcproof explain ID` explains a rule.\n")
    return OK


def _schema(_: argparse.Namespace) -> int:
    from mcproof.testing.suites.model import suite_schema_text

    sys.stdout.write(suite_schema_text())
    return OK


COMMANDS = (
    Command("rules", "List all rules.", (TEXT_OR_JSON,), examples="mcproof rules --format json", run=_list_rules),
    Command(
        "advisories",
        "List the known vulnerabilities of MCP servers and frameworks that `scan` checks.",
        (Option(ARGUMENTS, "names PACKAGE", "names of packages (default: all)", nargs="*"), TEXT_OR_JSON),
        usage="[OPTIONS] [PACKAGE...]",
        examples="mcproof advisories  all of them\nmcproof advisories mcp-remote  those of one package",
        notes="""\
The table ships with mcproof and has a date: newer advisories are not in it. `scan` checks the packages of a server that
its command, source or capture shows with a version; an unknown version is reported as not checked.
""",
        run=_advisories,
    ),
    Command(
        "clients",
        "List the clients, model APIs and SDKs that `compat` knows, or the facts about one, with sources and dates.",
        (
            Option(ARGUMENTS, "names NAME", "ids of clients, such as claude-code (default: all)", nargs="*"),
            CONFIG,
            TEXT_OR_JSON,
        ),
        usage="[OPTIONS] [NAME...]",
        examples="mcproof clients  all of them\nmcproof clients cursor  every fact about one",
        run=_clients,
    ),
    Command(
        "explain",
        "Show what a rule checks, why, and how to fix a finding; or list rules, clients and advisories.",
        (
            Option(
                ARGUMENTS,
                "names ID",
                "a rule's id or name, a ruleset, a fault's id, a letter, a verdict, a client; or `rules`, "
                "`clients [NAME...]`, `advisories [PACKAGE...]` (default: what there is to explain)",
                nargs="*",
            ),
            CONFIG,
            TEXT_OR_JSON,
        ),
        usage="[OPTIONS] [ID]\n[OPTIONS] rules\n[OPTIONS] clients [NAME...]\n[OPTIONS] advisories [PACKAGE...]",
        examples="""\
mcproof explain  what there is to explain
mcproof explain SCH-001  a rule
mcproof explain clients cursor  every fact about a client, with sources and dates
mcproof explain advisories mcp-remote  the known vulnerabilities of a package
""",
        notes="""\
The table of advisories ships with mcproof and has a date: newer ones are not in it.
""",
        run=_explain,
    ),
    Command(
        "schema",
        "Print the JSON Schema of test suites, for editors.",
        usage="",
        examples="mcproof schema > mcproof.schema.json",
        notes="""\
An editor with a YAML language server checks suites while you type, if their first line is
`# yaml-language-server: $schema=mcproof.schema.json`.
""",
        run=_schema,
    ),
    Command(
        "completion",
        "Print a shell script that completes commands, options and rules.",
        (Option(ARGUMENTS, "shell", "the shell", choices=list(SCRIPTS)),),
        usage="{bash,zsh,fish}",
        examples="""\
eval "$(mcproof completion bash)"  in ~/.bashrc
mcproof completion zsh > ~/.zfunc/_mcproof  a folder of $fpath, then compinit
mcproof completion fish > ~/.config/fish/completions/mcproof.fish
""",
        run=_completion,
    ),
)
