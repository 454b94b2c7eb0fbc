"""Capabilities: the risky things that a tool can do, with the word that shows each.

A capability needs a verb and its object, not a word anywhere: `get_subscription_grant` grants nothing and `upload_file`
to a bucket writes no file. A reading verb in the name outweighs what a description adds, and `readOnlyHint` outweighs
what only a parameter suggests. Words are English.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcproof.catalog import capability_words as known
from mcproof.catalog.tool_acts import Act, Source, ToolText, text_of
from mcproof.catalog.tool_names import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.catalog.model import Tool

Capability = Literal[
    "execute_code",
    "access_credentials",
    "write_files",
    "admin_control",
    "delete_data",
    "send_message",
    "financial_action",
    "network_access",
]

_READ_ONLY = re.compile(r"(?<!not )(?<!non-)\bread[- ]?only\b|\bselect\b(?! an?\b)", re.IGNORECASE)
_WRITING_SQL = re.compile(r"\b(?:INSERT|UPDATE|DELETE|DROP|ALTER|TRUNCATE)\b|\b(?:DDL|DML|write quer)", re.IGNORECASE)
_CODE_PHRASE = re.compile(
    r"\b(?:command|code|script|shell)(?: \([^)]{1,20}\))? execution\b"
    r"|\b(?:execut|run|evaluat|spawn)\w* (?:any |arbitrary |the (?:given |provided |specified )?|a |an )?"
    r"(?:(?:shell|bash|terminal|system|cli|os|python|javascript|js|node(?:\.js)?|custom|user) ){0,2}"
    r"(?:code|commands?|scripts?|javascript|python)\b(?! status| history)"
    r"|\bterminal (?:commands?|operations?)\b"
)
_RUN_IN_PARAMETER = re.compile(r"\b(?:execut\w*|runs?|evaluat\w*)\b", re.IGNORECASE)
_SAVED = re.compile(
    r"\b(?:to|will be|where|is|are|be) (?:(?:the|a|it|this|output|file|result)\w* ){0,3}?(?:sav|writ|stor|export|download)\w*"
    r"|\b(?:sav|writ|stor|export|download)(?:e|es|ed|ing|ten)\b[^.]{0,40}\b(?:to|in|into|at|as)\b"
    r"|\boutput (?:file|path|director)",
    re.IGNORECASE,
)
_SAVES = re.compile(
    r"\b(?:saves?|writes?|saved|written)\b (?:\w+ ){0,4}?(?:to|in|into|as) (?:\w+ ){0,3}?(?:files?|disk|folder|directory|\$\w+)\b"
    r"|\bsaves? (?:\w+ ){0,2}(?:file|directory)\b"
)
_TIED_TO_SITE = re.compile(r"\b(?:must|only|domain|docs?|documentation|deployed|search results?|your)\b", re.IGNORECASE)


_OWN_PAGES = re.compile(
    r"\b(?:[A-Z]{2,}|[A-Z][a-z]+[A-Z]?\w*)(?<!URL) (?:[a-z]+ ){0,2}(?:URL|page|pages|replay|resource|video)\b"
)
"""Pages of one product: "all Wikipedia pages"."""


class CapabilityMatch(NamedTuple):
    """A capability of a tool, with what shows it."""

    capability: Capability
    keyword: str
    """The word or words that show it, as in `write_file`."""
    source: Source
    why: str
    """As a sentence without a full stop."""
    is_sure: bool = True
    """Whether its name or the verb of its description states it, rather than a parameter."""
    is_overwriting: bool = False
    """Whether what exists is changed or lost."""


def capabilities_of(tool: Tool) -> list[CapabilityMatch]:
    """Return the capabilities of a tool, at most one match for each."""
    text = text_of(tool)
    found = []
    for find in _FINDERS:
        match = next(find(text), None)
        if match is not None:
            found.append(match)
    return found


def _changes(text: ToolText) -> Iterator[Act]:
    """The acts that may be effects: not those that a description or a value adds to a reading name."""
    named = text.name_act
    for act in text.acts:
        if act.source != "name" and named is not None and named.is_reading:
            continue
        if act.source == "schema" and text.read_only:
            continue
        if not act.is_reading:
            yield act


_WHERE: dict[Source, str] = {
    "name": "its name",
    "description": "its description",
    "schema": "a value of its parameters",
}


def _by_act(capability: Capability, act: Act, keyword: str = "", *, is_overwriting: bool = False) -> CapabilityMatch:
    said = " ".join((act.verb, *act.object[:4]))
    return CapabilityMatch(
        capability,
        keyword or act.keyword,
        act.source,
        f"`{said}` in {_WHERE[act.source]}",
        is_sure=act.source != "schema",
        is_overwriting=is_overwriting,
    )


def _by_parameter(capability: Capability, name: str, why: str, keyword: str = "") -> CapabilityMatch:
    return CapabilityMatch(capability, keyword or name, "schema", f"its parameter `{name}` {why}", is_sure=False)


def _described(schema: Any) -> str:
    description = schema.get("description") if isinstance(schema, dict) else None
    return description[:500] if isinstance(description, str) else ""


def _is_text(schema: Any) -> bool:
    """Whether a parameter takes free text, or a list of texts."""
    if not isinstance(schema, dict) or "enum" in schema or "const" in schema:
        return False
    kinds = schema.get("type")
    return not kinds or not {"string", "array"}.isdisjoint(kinds if isinstance(kinds, list) else [kinds])


def _parameters_with(text: ToolText, last_words: frozenset[str]) -> Iterator[str]:
    """The parameters for free text whose last word is one of these."""
    for name, schema in text.parameters.items():
        if not last_words.isdisjoint(words_of(name)[-1:]) and _is_text(schema):
            yield name


# Code


def _execute_code(text: ToolText) -> Iterator[CapabilityMatch]:
    named = text.name_act
    is_reading = named is not None and (named.is_reading or named.verb in {"validate", "generate", "create"})
    code = next(_parameters_with(text, known.CODE_PARAMETERS), None)
    sure_code = next(_parameters_with(text, known.SURE_CODE_PARAMETERS), None)
    for act in text.acts:
        if is_reading and (act.source == "schema" or code is None):
            continue
        if act.verb in known.EXECUTING and (_is_code(act) or (act.verb == "spawn" and act.head == "process")):
            yield _by_act("execute_code", act)
        if act.verb in {"start", "open", "create"} and {"process", "terminal", "shell"} & set(act.object) and sure_code:
            yield _by_act("execute_code", act)
        if (
            act.verb in {"send", "write"}
            and "input" in act.object
            and {"process", "terminal", "shell", "repl"} & set(act.words)
        ):
            yield _by_act("execute_code", act)
    shell = next((word for word in text.words if word in known.SHELLS), None)
    if shell is not None and not is_reading and (named is None or code is not None or len(text.words) == 1):
        if shell != "eval" or (code is not None and not _is_formula(text)):
            yield CapabilityMatch("execute_code", shell, "name", f"`{shell}` in its name")
    for sentence in text.sentences[:1]:
        phrase = _CODE_PHRASE.search(sentence)
        if (
            phrase is not None
            and not is_reading
            and not re.search(r"\b(?:not|never|without|prevent)\b", sentence[: phrase.start()])
        ):
            yield CapabilityMatch("execute_code", phrase[0], "description", f"`{phrase[0]}` in its description")
    for name in _parameters_with(text, known.SURE_CODE_PARAMETERS | {"code"}):
        if text.read_only or not _RUN_IN_PARAMETER.search(_described(text.parameters[name])):
            continue
        if words_of(name)[-1:] != ["code"] or any(act.verb in known.EXECUTING for act in text.acts):
            if known.NOT_CODE.isdisjoint(text.first_words) and known.NOT_CODE.isdisjoint(
                words_of(_described(text.parameters[name]))
            ):
                yield _by_parameter("execute_code", name, "is executed")


def _is_code(act: Act) -> bool:
    """Whether the object of an executing verb is code in a general language or a command."""
    words = act.object[:6]
    if not known.NOT_CODE.isdisjoint(words):
        return not {"javascript", "python", "code", "script", "scripts"}.isdisjoint(words) and "workflow" not in words
    return not known.CODE.isdisjoint(words)


def _is_formula(text: ToolText) -> bool:
    return not {"expression", "formula", "template", "math", "mathematical"}.isdisjoint(text.first_words) and not (
        {"javascript", "python", "code"} & text.first_words
    )


# Credentials


def _access_credentials(text: ToolText) -> Iterator[CapabilityMatch]:
    named = text.name_act
    for act in text.acts:
        if act.source != "name" and named is not None and named.verb not in known.ACCESSING:
            continue
        secret = _secret_in(act, text)
        if secret and act.verb in known.ACCESSING and not (act.verb == "generate" and "password" in secret):
            yield _by_act("access_credentials", act, secret)
        if act.verb in known.LOGGING_IN or (act.verb == "log" and act.words[:1] == ("in",)):
            for name in _parameters_with(text, known.SECRET_PARAMETERS):
                yield _by_parameter("access_credentials", name, "takes a secret to log in")
    if named is None:
        for word in text.words:
            if word in {"vault", "secrets", "credentials", "keychain"}:
                yield CapabilityMatch("access_credentials", word, "name", f"`{word}` in its name")
    if (text.words[-1:] == ["env"] and (named is None or named.is_reading)) or text.words == ["printenv"]:
        yield CapabilityMatch(
            "access_credentials", "env", "name", "`env` in its name: the environment holds credentials"
        )
    if named is not None and named.verb in known.ACCESSING and named.is_reading:
        for name in text.parameters:
            if tuple(words_of(name)[-2:]) in known.SECRET_REFERENCES:
                yield _by_parameter("access_credentials", name, "selects a stored secret")


def _secret_in(act: Act, text: ToolText) -> str | None:
    """The secret that an act is about: the last noun of its object."""
    words = act.object
    for at, word in enumerate(words):
        rest = words[at + 1 :]
        joined = next((at for at, each in enumerate(rest) if each in {"and", "or", "of"}), len(rest))
        if any(each not in known.AFTER_SECRETS for each in rest[:joined]):
            continue
        if word in known.SECRETS and not word.endswith("'s"):
            return word
        pair = (words[at - 1], word) if at else ("", word)
        if pair in known.SECRET_PAIRS:
            return "_".join(pair)
        if (
            word in {"token", "tokens"}
            and at == 0
            and any(each in " ".join(text.sentences[:2]) for each in known.AUTHENTICATION)
        ):
            return word
    return None


# Files


def _write_files(text: ToolText) -> Iterator[CapabilityMatch]:
    is_remote = _is_remote(text)
    for act in _changes(text):
        if act.verb in known.FILE_COMMANDS and act.source != "schema":
            yield _by_act("write_files", act, is_overwriting=act.verb in known.OVERWRITING)
        if is_remote or act.source == "schema":
            continue
        words = _file_words(act)
        if {"folder", "folders"} & words and not any(known.FILES & set(words_of(name)) for name in text.parameters):
            continue  # of mails or dashboards
        if act.verb in known.WRITING and not known.FILES.isdisjoint(words):
            yield _by_act("write_files", act, is_overwriting=act.verb in known.OVERWRITING)
    if is_remote:
        return
    for sentence in text.sentences:
        phrase = _SAVES.search(sentence)
        if phrase is not None:
            yield CapabilityMatch("write_files", phrase[0], "description", f"`{phrase[0]}` in its description")
    changing = next(
        (
            act
            for act in _changes(text)
            if act.source != "schema" and act.verb in (known.WRITING | _EDITING) - {"export"}
        ),
        None,
    )
    for name, schema in text.parameters.items():
        words = words_of(name)
        if known.FILE_PARAMETERS.isdisjoint(words[-1:]) and words[-2:] != ["save", "to"]:
            continue
        described = _described(schema)
        if not {"output", "save", "download", "export", "dest", "destination", "out"}.isdisjoint(
            words
        ) or _SAVED.search(described):
            if not {"s3", "bucket", "repository", "remote"} & set(words_of(described)):
                yield _by_parameter("write_files", name, "names a file to write")
        elif (
            changing is not None
            and known.READ_PARAMETERS.isdisjoint(words)
            and words[-1] != "directory"
            and _is_file(text, described)
        ):
            yield CapabilityMatch(
                "write_files",
                f"{changing.verb}_{name}",
                "schema",
                f"`{changing.verb}` in {_WHERE[changing.source]}, and its parameter `{name}` names the file",
                is_overwriting=changing.verb in known.OVERWRITING,
            )


def _file_words(act: Act) -> set[str]:
    """The words of an act that may name a file: of a name only its last noun, which `path_map` is not."""
    if act.source == "description":
        return set(act.object[:5])
    head = act.object[-2:] if act.head in {"block", "content", "contents", "lines", "text"} else act.object[-1:]
    return set(head)


_EDITING = frozenset(
    [
        "add",
        "customize",
        "format",
        "goal",
        "highlight",
        "merge",
        "protect",
        "set",
        "sort",
        "transform",
        "unprotect",
        "auto",
        "fit",
        "convert",
    ]
)
"""Verbs of tools that change a document."""


def _is_file(text: ToolText, described: str) -> bool:
    """Whether a parameter is the path of a document that a tool changes."""
    about = text.first_words | {word.lower() for word in words_of(described)}
    return (not known.DOCUMENTS.isdisjoint(about) and "git" not in about) or {
        "content",
        "contents",
        "text",
    } & text.parameters.keys() != set()


def _is_remote(text: ToolText) -> bool:
    """Whether the files of a tool are in a repository, a bucket or another service."""
    files = (each for name, each in text.parameters.items() if known.FILES & set(words_of(name)))
    about = " ".join([*text.sentences[:1], *(_described(each).lower() for each in files)])
    if any(word in about for word in known.LOCAL):
        return False
    named = {word for name in text.parameters for word in words_of(name)}
    words = text.first_words
    return not known.REMOTE.isdisjoint(words) or not {"bucket", "repo", "branch", "owner"}.isdisjoint(named)


# Administration


def _admin_control(text: ToolText) -> Iterator[CapabilityMatch]:
    for act in _changes(text):
        words = set(act.object)
        if act.verb in known.ADMINISTRATIVE or (act.verb == "shut" and act.words[:1] == ("down",)):
            yield _by_act("admin_control", act)
        if act.verb in known.STOPPING and (not known.MACHINES.isdisjoint(words) or act.words[:1] in ((), ("force",))):
            yield _by_act("admin_control", act)
        if act.verb in known.CHANGING_RIGHTS:
            if act.head in known.RIGHTS or (act.verb in {"grant", "give"} and words & {"access", "rights", "role"}):
                yield _by_act("admin_control", act)
            if {"policy", "policies"} & words and {
                "user",
                "role",
                "group",
                "iam",
                "inline",
                "managed",
                "access",
            } & words:
                yield _by_act("admin_control", act)
            if (
                act.source != "schema"
                and act.verb in {"create", "delete", "disable", "enable"}
                and act.object[-1:] in _ACCOUNTS
            ):
                yield _by_act("admin_control", act)
            if (
                act.verb in {"add", "remove"}
                and not known.PRINCIPALS.isdisjoint(words)
                and not known.MEMBERSHIPS.isdisjoint(act.target)
            ):
                yield _by_act("admin_control", act)
        if (
            act.verb in {"reset", "change", "set"}
            and act.object[-1:] in {("password",), ("passwords",)}
            and "user" in text.first_words
        ):
            yield _by_act("admin_control", act)
    named = text.name_act
    if {"admin", "sudo"} & set(text.words) and (named is None or not named.is_reading) and not text.read_only:
        word = "sudo" if "sudo" in text.words else "admin"
        yield CapabilityMatch("admin_control", word, "name", f"`{word}` in its name")


_ACCOUNTS = {("user",), ("users",), ("account",), ("accounts",), ("iam", "user")}


# Destruction


def _delete_data(text: ToolText) -> Iterator[CapabilityMatch]:
    for act in _changes(text):
        if act.verb in known.DELETING:
            yield _by_act("delete_data", act, act.verb, is_overwriting=True)
        if act.verb in known.MAY_DELETE and _is_loss(act, text):
            yield _by_act("delete_data", act, act.verb, is_overwriting=True)
        if act.verb in known.EXECUTING and "destructive" in act.object:
            yield _by_act("delete_data", act, "destructive", is_overwriting=True)
    if text.read_only:
        return
    statement = next(_runs_sql(text), None)
    if statement is not None:
        yield statement


def _is_loss(act: Act, text: ToolText) -> bool:
    """Whether a verb that often only undoes something loses data here."""
    words = set(act.object)
    if act.verb == "drop":
        return not known.TABLES.isdisjoint(words)
    if act.source == "schema" or not known.NO_DATA.isdisjoint(words):
        return False
    if act.verb == "remove" and "from" in act.words:
        return not known.RECORDS.isdisjoint(words)
    if act.verb == "flush":
        return not {"all", "cache", "db", "database", "keys", "queue", "index"}.isdisjoint({*act.words, *text.words})
    return text.destructive or not known.DATA.isdisjoint(words)


def _runs_sql(text: ToolText) -> Iterator[CapabilityMatch]:
    """SQL that the caller writes, unless only reading is allowed."""
    about = " ".join(text.sentences)
    is_limited = _READ_ONLY.search(about) is not None and _WRITING_SQL.search(about) is None
    if is_limited or (text.name_act is not None and text.name_act.is_reading and not text.destructive):
        return
    named = {word for name in text.parameters for word in words_of(name)}
    for act in text.acts:
        words = {*act.object, *(text.words if act.source == "name" else ())}
        is_written = not known.SQL.isdisjoint(words) or (
            _WRITING_SQL.search(text.sentences[0] if text.sentences else "") is not None and "query" in words
        )
        if act.verb in {*known.EXECUTING, "transact", "write"} and is_written and named:
            yield _by_act("delete_data", act, "sql", is_overwriting=True)


# Messages


def _send_message(text: ToolText) -> Iterator[CapabilityMatch]:
    named = {word for name in text.parameters for word in words_of(name)}
    for act in _changes(text):
        words = set(act.object)
        if act.verb in known.NOTIFYING and act.source != "schema":
            yield _by_act("send_message", act)
        if (
            act.verb in {"send", "post", "forward"}
            and not known.MESSAGES.isdisjoint(words)
            and act.verb + "_draft" not in text.words
        ):
            yield _by_act("send_message", act)
        if act.verb == "reply" and (
            act.source == "name" or {"message", "thread", "email", "comment", "tweet"} & set(act.words)
        ):
            yield _by_act("send_message", act)
        if (
            act.verb in {"email", "mail", "dial"}
            and act.source == "name"
            and not known.RECIPIENTS.isdisjoint(named)
            and text.words[:1] == [act.verb]
        ):
            yield _by_act("send_message", act)
        if act.verb in {"create", "make", "place", "initiate", "start"}:
            if act.object[-1:] in {("call",), ("calls",)} and (known.PHONE & (words | named | text.first_words)):
                yield _by_act("send_message", act)
            if act.object[-1:] in {("tweet",), ("sms",), ("broadcast",)}:
                yield _by_act("send_message", act)
        if (
            act.verb == "publish"
            and {"message", "notification"} & (words | named)
            and {"phone", "email", "sms", "subject"} & named
        ):
            yield _by_act("send_message", act)


# Money


def _financial_action(text: ToolText) -> Iterator[CapabilityMatch]:
    named = {word for name in text.parameters for word in words_of(name)}
    for act in _changes(text):
        words = set(act.object)
        if act.verb in known.PAYING and act.source != "schema" and not {"device", "battery", "attention"} & words:
            yield _by_act("financial_action", act)
        if act.verb in known.PROMPTING and not known.MONEY.isdisjoint(act.object[-1:]):
            yield _by_act("financial_action", act)
        if act.verb in {"place", "submit", "execute", "create", "send", "sign"} and not known.ORDERS.isdisjoint(
            act.object[-1:]
        ):
            is_order = (
                act.object[-1].startswith("order")
                or act.verb in {"send", "sign"}
                or not known.CURRENCY.isdisjoint(named)
            )
            if is_order and "sql" not in text.first_words:
                yield _by_act("financial_action", act)
        if act.verb in known.MOVING_MONEY and (
            not known.CURRENCY.isdisjoint(words) or ("amount" in named and act.verb != "send")
        ):
            yield _by_act("financial_action", act)
        if act.verb == "invoice" and act.source == "name":
            yield _by_act("financial_action", act)


# Network


def _network_access(text: ToolText) -> Iterator[CapabilityMatch]:
    url = next(_url_parameters(text), None)
    is_tied = _OWN_PAGES.search(text.opening) is not None and {"url", "web", "http"}.isdisjoint(text.words)
    for act in text.acts:
        words = set(act.words[:7])
        if act.source == "schema":
            continue
        if act.verb in known.BROWSING and (url is not None or not known.WEB.isdisjoint(words)):
            yield _by_act("network_access", act)
        if (
            url is not None
            and act.verb in known.FETCHING
            and not known.WEB.isdisjoint(text.first_words)
            and not is_tied
        ):
            yield CapabilityMatch(
                "network_access",
                act.keyword,
                act.source,
                f"`{act.verb}` in {_WHERE[act.source]}, with the parameter `{url}`",
            )
        if act.verb in known.TRANSFERS and not known.TRANSFERRED.isdisjoint(
            words | {"file"} if act.verb == "upload" and not words else words
        ):
            yield _by_act("network_access", act)
        if (
            "http" in words
            and not {"request", "requests", "call"}.isdisjoint(words)
            and act.verb in {"make", "send", "perform", "execute", "issue", "call"}
        ):
            yield _by_act("network_access", act, "http_request")
    strong = {"curl", "wget"} & set(text.words) or ("http" in text.words and "request" in text.words)
    if strong and not (text.name_act is not None and text.name_act.verb in {"get", "list", "view"}):
        yield CapabilityMatch(
            "network_access", "_".join(text.words[:3]), "name", f"`{' '.join(text.words[:3])}` in its name"
        )
    if url is not None and "upload" in text.words:
        yield _by_parameter("network_access", url, "is a URL to load")


def _url_parameters(text: ToolText) -> Iterator[str]:
    """Parameters for any URL: neither a fixed choice nor tied to one site."""
    for name in _parameters_with(text, known.URL_PARAMETERS):
        schema = text.parameters[name]
        words = words_of(name)
        if {
            "base",
            "callback",
            "redirect",
            "icon",
            "logo",
            "webhook",
            "region",
            "queue",
            "image",
            "avatar",
            "tracker",
        } & set(words):
            continue
        if isinstance(schema, dict) and "pattern" in schema and "http" not in str(schema["pattern"])[:12]:
            continue
        if not _TIED_TO_SITE.search(_described(schema)):
            yield name


_FINDERS: tuple[Callable[[ToolText], Iterator[CapabilityMatch]], ...] = (
    _execute_code,
    _access_credentials,
    _write_files,
    _admin_control,
    _delete_data,
    _send_message,
    _financial_action,
    _network_access,
)
