"""Rules on tool names: distinct from each other and from those of other servers.

Names are compared word by word, in any naming style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcproof.checks.findings import Problem
from mcproof.checks.rule import rule
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.text.english import word_set, words_of

GENERIC = word_set(
    "search query get list fetch run do call execute process handle request send load save update delete create read "
    "write go invoke perform tool action test main helper"
)
"""Names that do not tell what is searched, run or sent."""

DECORATION = word_set("mcp server servers fastmcp mcpserver")
"""Words that any server's name could contain."""

_PREFERRED = {
    "get": word_set("get fetch retrieve obtain"),
    "list": word_set("list enumerate"),
    "update": word_set("update modify"),
    "delete": word_set("delete destroy"),
}
"""Verbs with the same meaning; read/get, add/create and remove/delete are not always the same."""
_FAMILY = {verb: preferred for preferred, verbs in _PREFERRED.items() for verb in verbs}
_UNUSUAL = sorted(_FAMILY.keys() - _PREFERRED)

_SHARED = {
    "file": "read_file write_file edit_file move_file delete_file list_files search_files get_file_info "
    "list_directory create_directory read_multiple_files upload_file download_file",
    "issue": "create_issue get_issue list_issues update_issue search_issues add_comment add_issue_comment",
    "repository": "create_branch list_branches list_commits create_pull_request list_pull_requests get_pull_request "
    "merge_pull_request create_repository fork_repository search_repositories search_code push_files "
    "get_file_contents",
    "database": "list_tables describe_table create_table list_databases list_schemas execute_sql execute_query "
    "run_query read_query write_query",
    "chat and mail": "send_message list_channels get_messages send_email search_emails list_users get_user",
    "calendar": "create_event list_events update_event delete_event",
    "project": "list_projects get_project create_project update_project create_task list_tasks update_task",
    "browser": "take_screenshot web_search fetch_url",
    "shell": "execute_command run_command execute_code run_code",
    "documentation": "search_docs get_docs",
    "weather and time": "get_weather get_forecast get_current_time",
}
COMMON = {name: kind for kind, names in _SHARED.items() for name in names.split()}
"""Tool names that several widely used servers of one kind share, from general knowledge."""

_STYLES = {
    "snake_case": re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+").fullmatch,
    "camelCase": re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+").fullmatch,
    "PascalCase": re.compile(r"(?:[A-Z][a-z0-9]*){2,}").fullmatch,
    "kebab-case": re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+").fullmatch,
}


def _named(catalog: Catalog) -> list[Tool]:
    return [tool for tool in catalog.tools if tool.name and tool.knows("/name")]


@rule(
    Tool,
    "MP010",
    ruleset="polish",
    name="generic-tool-name",
    severity="warn",
    category="naming",
)
def generic_tool_name(tool: Tool) -> Iterator[Problem]:
    """A tool's name is a single word that fits any server.

    Why: beside the tools of other servers, it is unclear what `search` searches.
    Fix: name what it works on: `search_tickets` rather than `search`.
    """
    if tool.name.lower() in GENERIC and tool.knows("/name"):
        yield Problem("the name does not say what the tool works on", at="/name")


@rule(
    Catalog,
    "MP011",
    ruleset="polish",
    name="redundant-prefix",
    severity="note",
    category="naming",
)
def redundant_prefix(catalog: Catalog) -> Iterator[Problem]:
    """A tool's name starts with the name of its server.

    Not reported if the rest would be a single word, a name that many servers have (which MP013 would report), or the
    name of another tool, since the prefix is useful there. A word that all tools start with is not a reason by itself.
    It is a note: the prefix is redundant only in clients that show tools under the name of their server.

    Why: such clients show the server's name, and pay its tokens, twice.
    Fix: omit the server's name: `close_ticket` rather than `tracker_close_ticket`; keep it if your users' clients show
    the tools of all servers in one list.
    """
    given = catalog.server_info.get("name")
    own = [word for word in words_of(given.rpartition("/")[2]) if word not in DECORATION] if type(given) is str else []
    if not own:
        return
    tools = _named(catalog)
    taken = {tool.name.lower() for tool in tools}
    for tool in tools:
        if not tool.name.lower().startswith(own[0]):
            continue
        words = words_of(tool.name)
        rest = words[len(own) :]
        name = "_".join(rest)
        if (
            words[: len(own)] == own
            and len(rest) > 1
            and name not in COMMON
            and taken.isdisjoint((name, "".join(rest)))
        ):
            yield Problem(f"the name repeats the server's name, `{given}`", at="/name", item=tool)


@rule(
    Catalog,
    "MP012",
    ruleset="polish",
    name="inconsistent-verb-pattern",
    severity="warn",
    category="naming",
)
def inconsistent_verb_pattern(catalog: Catalog) -> Iterator[Problem]:
    """A tool's name starts with a different verb than similar tools of the same server.

    Why: a model that has seen `get_user` looks for `get_order`, not for `fetch_order`.
    Fix: use one verb for each kind of action.
    """
    tools = _named(catalog)
    all_names = " ".join(tool.name for tool in tools).lower()
    if not any(verb in all_names for verb in _UNUSUAL):
        return
    names = _without_prefix([words_of(tool.name) for tool in tools])
    verbs = [words[0] if words and words[0] in _FAMILY else "" for words in names]
    counts: dict[str, dict[str, int]] = {}
    for verb in filter(None, verbs):
        family = counts.setdefault(_FAMILY[verb], {})
        family[verb] = family.get(verb, 0) + 1
    usual = {
        preferred: max(family, key=lambda verb: (family[verb], verb == preferred))
        for preferred, family in counts.items()
    }
    for tool, verb in zip(tools, verbs, strict=True):
        if verb and verb != (other := usual[_FAMILY[verb]]):
            yield Problem(f"the name starts with `{verb}`; other tools use `{other}`", at="/name", item=tool)


def _without_prefix(names: list[list[str]]) -> list[list[str]]:
    """Names without their common first words, unless these are verbs."""
    shared = 0
    if len(names) > 1:
        for position in range(min(map(len, names))):
            words = {words[position] for words in names}
            if len(words) > 1 or not words.isdisjoint(_FAMILY):
                break
            shared += 1
    return [words[shared:] for words in names]


@rule(
    Tool,
    "MP013",
    ruleset="polish",
    name="name-collision-cross-server",
    severity="warn",
    category="naming",
)
def name_collision_cross_server(tool: Tool) -> Iterator[Problem]:
    """A tool has the same name as tools of several well-known servers.

    The names are a short list maintained by mcproof, such as `read_file`, `create_issue` and `list_tables`; single
    generic words are reported by MP010.

    Why: with both servers connected, one tool hides the other or the client renames them, and models confuse them.
    Fix: name what is special about yours: `read_vault_file` rather than `read_file`. The server's name as a prefix also
    works; MP011 does not report it there.
    """
    name = tool.name
    kind = COMMON.get(name.replace("-", "_") if name.islower() else "_".join(words_of(name)))
    if kind is not None and tool.knows("/name"):
        yield Problem(f"several well-known {kind} servers have a tool with this name", at="/name")


@rule(
    Catalog,
    "MP014",
    ruleset="polish",
    name="snake-vs-camel",
    severity="note",
    category="naming",
)
def snake_vs_camel(catalog: Catalog) -> Iterator[Problem]:
    """A tool's name is in a different naming style than most of the server's names.

    Any style is fine if all names share it. A single word fits every style.

    Why: a model that writes names from memory gets the exception wrong.
    Fix: use one style for all names; snake_case is the most common.
    """
    tools = _named(catalog)
    styles = [next((style for style, fits in _STYLES.items() if fits(tool.name)), None) for tool in tools]
    usual = max(_STYLES, key=styles.count)
    for tool, style in zip(tools, styles, strict=True):
        if style is not None and style != usual:
            yield Problem(f"the name is in {style}; most others are in {usual}", at="/name", item=tool)
