"""The capabilities of a tool: one function for each, over the machine of the server, accounts, data and people.

A capability needs a verb and its object, not a word anywhere: `get_subscription_grant` grants nothing and
`upload_file` to a bucket writes no file. A reading verb in the name outweighs what a description adds, and
`readOnlyHint` outweighs what only a parameter suggests.
Why a capability is a verb with its object: docs/decisions/0049-capabilities-are-verbs.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from mcproof.checks.behaviour import capabilities
from mcproof.checks.behaviour.acts import Act, ToolText, text_of
from mcproof.checks.behaviour.capabilities import (
    WHERE,
    ActPattern,
    CapabilityMatch,
    by_act,
    by_parameter,
    by_patterns,
    by_word,
    described_by,
    effects,
    parameters_with,
)
from mcproof.core.catalog.model import Tool
from mcproof.core.text.english import word_set, words_of

_READ_ONLY = re.compile(r"(?<!not )(?<!non-)\bread[- ]?only\b|\bselect\b(?! an?\b)", re.IGNORECASE)
_ANY_SQL = re.compile(r"\b(?:raw|any|arbitrary|custom) (?:\w+ )?sql\b", re.IGNORECASE)
_WRITING_SQL = re.compile(r"\b(?:INSERT|UPDATE|DELETE|DROP|ALTER|TRUNCATE)\b|\b(?:DDL|DML|write quer)", re.IGNORECASE)


def access_credentials(text: ToolText) -> Iterator[CapabilityMatch]:
    """Secrets that a tool returns, issues or stores, or takes to log in."""
    named = text.name_act
    for act in text.acts:
        if act.source != "name" and named is not None and named.verb not in capabilities.ACCESSING:
            continue
        secret = _secret_in(act, text)
        # A generated password is new: nobody uses it yet.
        if secret and act.verb in capabilities.ACCESSING and not (act.verb == "generate" and "password" in secret):
            yield by_act("access_credentials", act, secret)
        if act.verb in capabilities.LOGGING_IN or (act.verb == "log" and act.words[:1] == ("in",)):
            for name in parameters_with(text, capabilities.SECRET_PARAMETERS):
                yield by_parameter("access_credentials", name, "takes a secret to log in")
    if named is None:
        for word in capabilities.SECRET_STORES.intersection(text.words if not _holds_assets(text) else ()):
            yield by_word("access_credentials", word)
    is_read = named is None or named.is_reading
    if text.words == ["printenv"] or (is_read and (text.words[-1:] == ["env"] or text.words[-2:] == ["env", "file"])):
        yield by_word("access_credentials", "env", why=": the environment holds credentials")
    if named is not None and named.verb in capabilities.ACCESSING and named.is_reading:
        for name in text.parameters:
            if tuple(words_of(name)[-2:]) in capabilities.SECRET_REFERENCES:
                yield by_parameter("access_credentials", name, "selects a stored secret")


def _secret_in(act: Act, text: ToolText) -> str | None:
    """The secret that an act is about: the last noun of its object, or of one part of it."""
    words = act.object
    for at, word in enumerate(words):
        rest = words[at + 1 :]
        end = next((number for number, following in enumerate(rest) if following in {"and", "or", "of"}), len(rest))
        if not capabilities.AFTER_SECRETS.issuperset(rest[:end]):
            continue
        pair = (words[at - 1] if at else "", word)
        is_other_vault = word == "vault" and (
            not capabilities.NOTES.isdisjoint(text.first_words) or _holds_assets(text)
        )
        if word in capabilities.SECRETS and not is_other_vault:
            return word
        if pair in capabilities.SECRET_PAIRS:
            return "_".join(pair)
        # A token may also be a part of a text or a coin, so the sentence has to be about a login.
        is_first_token = at == 0 and word in {"token", "tokens"}
        if is_first_token and any(login in text.opening.lower() for login in capabilities.LOGINS):
            return word
    return None


def _holds_assets(text: ToolText) -> bool:
    """Whether a vault of the tool is one of a blockchain."""
    return not capabilities.ASSETS.isdisjoint(text.first_words)


_ADMINISTRATION = (
    ActPattern(capabilities.ADMINISTRATIVE),
    ActPattern(word_set("revoke"), objects=capabilities.REVOKED),
    ActPattern(word_set("revoke"), heads=frozenset({""})),
    ActPattern(word_set("power shut"), objects=word_set("down off")),
    ActPattern(capabilities.STOPPING, objects=capabilities.MACHINES),
    ActPattern(capabilities.STOPPING, heads=frozenset({"", "force"})),
    ActPattern(word_set("stop"), heads=capabilities.MACHINES - capabilities.RUNNING_TASKS),
    ActPattern(capabilities.CHANGING_RIGHTS, heads=capabilities.RIGHTS),
    ActPattern(word_set("give grant"), objects=word_set("access rights role")),
    ActPattern(capabilities.CHANGING_RIGHTS, heads=word_set("policies policy"), objects=capabilities.POLICIES_OF),
    ActPattern(
        word_set("create deactivate delete disable enable lock remove unlock"),
        heads=word_set("account accounts user users"),
        targets=frozenset({""}),
        sources=("name", "description"),
    ),
    ActPattern(word_set("add remove"), objects=capabilities.PRINCIPALS, targets=capabilities.MEMBERSHIPS),
    ActPattern(word_set("change reset set"), heads=word_set("password passwords"), about=word_set("user users")),
)


def admin_control(text: ToolText) -> Iterator[CapabilityMatch]:
    """Machines, accounts and rights that a tool controls."""
    yield from by_patterns("admin_control", text, _ADMINISTRATION)
    named = text.name_act
    if (named is None or not named.is_reading) and not text.read_only:
        for word in text.words:
            if word in {"admin", "sudo"}:
                yield by_word("admin_control", word)


def delete_data(text: ToolText) -> Iterator[CapabilityMatch]:
    """Data that a tool deletes, by its verb or by SQL that the caller writes."""
    for act in effects(text):
        is_text = act.verb in {"erase", "truncate"} and not capabilities.NO_DATA.isdisjoint(act.object)
        if (act.verb in capabilities.DELETING and not is_text) or (
            act.verb in capabilities.MAY_DELETE and _is_loss(act, text)
        ):
            yield by_act("delete_data", act, act.verb, is_overwriting=True)
        if act.verb in capabilities.EXECUTING and "destructive" in act.object:
            yield by_act("delete_data", act, "destructive", is_overwriting=True)
    if not text.read_only:
        yield from _runs_sql(text)


def _is_about_link(act: Act, text: ToolText) -> bool:
    """Whether only a link goes: "Remove a file link from an item", also as `unlink_file`."""
    return act.head in capabilities.LINKS or (
        act.verb == "unlink" and any(other.head in capabilities.LINKS for other in text.acts)
    )


def _is_loss(act: Act, text: ToolText) -> bool:
    """Whether a verb that often only undoes something loses data here."""
    words = set(act.object)
    if _is_about_link(act, text):
        return False
    if act.source == "name":  # "Clear the working directory setting": the name has a part of what the sentence says
        described = [other for other in text.acts if other.source == "description"]
        if not capabilities.NO_DATA.isdisjoint(other.head for other in described if other.verb == act.verb):
            return False
        if described and not act.shown:  # `git_reset`: a name without an object says less than the sentence
            verbs = capabilities.DELETING | capabilities.MAY_DELETE
            return any(other.verb in verbs and _is_loss(other, text) for other in described)
    if act.verb == "drop":
        return not capabilities.TABLES.isdisjoint({*words, *text.words, *text.parameter_words})
    if act.source == "schema" or not capabilities.NO_DATA.isdisjoint(words):
        return False
    if act.verb == "remove" and "from" in act.words:
        return not capabilities.RECORDS.isdisjoint(words)
    is_permanent = "permanently" in " ".join(text.sentences[:1])
    return text.destructive or is_permanent or not capabilities.DATA.isdisjoint(words)


def _runs_sql(text: ToolText) -> Iterator[CapabilityMatch]:
    """SQL that the caller writes, unless only reading is allowed."""
    about = " ".join(text.sentences)
    writes = _WRITING_SQL.search(about) is not None
    if (_READ_ONLY.search(about) is not None and not writes) or not text.parameters:
        return
    is_any = _ANY_SQL.search(about) is not None
    if text.name_act is not None and text.name_act.is_reading and not (text.destructive or is_any):
        return
    for act in text.acts:
        words = {*act.object, *(text.words if act.source == "name" else ())}
        is_sql = not capabilities.SQL.isdisjoint(words) or (writes and "query" in words)
        if act.verb in capabilities.RUNNING_SQL and is_sql:
            yield by_act("delete_data", act, "sql", is_overwriting=True)


_SENDING = (
    ActPattern(capabilities.NOTIFYING, sources=("name", "description")),
    ActPattern(
        word_set("forward post send"),
        objects=capabilities.MESSAGES,
        not_about=capabilities.TERMINALS | word_set("console keyboard keypress keys pane vm"),
    ),
    ActPattern(word_set("reply"), sources=("name",), not_about=word_set("document docx")),
    ActPattern(word_set("reply respond"), targets=capabilities.CONVERSATIONS),
    ActPattern(word_set("dial email mail"), parameters=capabilities.RECIPIENTS, sources=("name",)),
    ActPattern(capabilities.STARTING, heads=word_set("call calls"), about=capabilities.PHONE),
    ActPattern(capabilities.STARTING, heads=word_set("call calls"), objects=capabilities.PHONE),
    ActPattern(capabilities.STARTING, heads=word_set("call calls"), parameters=capabilities.PHONE),
    ActPattern(capabilities.STARTING, heads=word_set("broadcast sms tweet")),
    ActPattern(word_set("publish"), parameters=word_set("email phone sms subject")),
    ActPattern(
        word_set("create post publish share"), heads=word_set("post update status"), about=capabilities.SOCIAL_NETWORKS
    ),
)


def send_message(text: ToolText) -> Iterator[CapabilityMatch]:
    """Mails, messages, notifications and calls that a tool sends."""
    yield from by_patterns("send_message", text, _SENDING)


_PAYMENT = (
    ActPattern(capabilities.PAYING, sources=("name", "description"), unless=word_set("attention battery device")),
    ActPattern(capabilities.PROMPTING, heads=capabilities.MONEY),
    ActPattern(capabilities.PROMPTING, heads=word_set("intent link session"), objects=capabilities.MONEY),
    ActPattern(word_set("cancel execute place submit"), heads=word_set("order orders")),
    # "create an insights order" starts a job, unless there is something to trade or to sell
    ActPattern(word_set("create"), heads=word_set("order orders"), parameters=capabilities.TRADED),
    ActPattern(word_set("create"), heads=word_set("order orders"), about=capabilities.TRADED),
    ActPattern(word_set("send sign submit"), heads=word_set("transaction transactions")),
    ActPattern(
        word_set("create execute submit"),
        heads=word_set("transaction"),
        parameters=capabilities.CURRENCY,
        not_about=capabilities.BOOKKEEPING,
    ),
    ActPattern(capabilities.MOVING_MONEY, objects=capabilities.CURRENCY),
    ActPattern(capabilities.MOVING_MONEY - {"send"}, parameters=word_set("amount")),
    ActPattern(word_set("invoice"), sources=("name",)),
)


def financial_action(text: ToolText) -> Iterator[CapabilityMatch]:
    """Money that a tool moves or asks for."""
    yield from by_patterns("financial_action", text, _PAYMENT)


_RUNNING = (
    ActPattern(word_set("spawn"), heads=word_set("process subprocess")),
    ActPattern(
        word_set("create open start"), objects=capabilities.TERMINALS, parameters=capabilities.SURE_CODE_PARAMETERS
    ),
    ActPattern(word_set("send write"), heads=word_set("input keys"), targets=capabilities.TERMINALS),
    ActPattern(
        word_set("install"), heads=word_set("package packages dependencies library libraries module modules plugin")
    ),
)
_CODE_PHRASE = re.compile(
    r"\b(?:command|code|script|shell)(?: \([^)]{1,20}\))? execution\b"
    r"|\b(?<!\ba )(?<!the )(?:execut|run|evaluat|spawn)\w* "
    r"(?:any |arbitrary |the (?:given |provided |specified )?|a |an )?"
    r"(?:(?:shell|bash|terminal|system|cli|os|python|javascript|js|node(?:\.js)?|custom|user) ){0,2}"
    r"(?:code|commands?|scripts?|javascript|python)\b(?! status| history)"
    r"|\bterminal (?:commands?|operations?)\b"
)
_NOT_RUN = re.compile(r"\b(?:not|never|without|prevents?|waits?|cancels?)\b")
_RUN = re.compile(r"\b(?:execut\w*|runs?|evaluat\w*)\b", re.IGNORECASE)


def execute_code(text: ToolText) -> Iterator[CapabilityMatch]:
    """Code or commands of the caller that a tool runs."""
    named = text.name_act
    is_other = named is not None and (named.is_reading or named.verb in capabilities.ABOUT_CODE)
    code = next(parameters_with(text, capabilities.CODE_PARAMETERS), None)
    for act in text.acts:
        may_run = not is_other or (code is not None and act.source != "schema")
        if act.verb in capabilities.EXECUTING and may_run and _is_code(act, text):
            yield by_act("execute_code", act)
    if is_other:
        return
    yield from by_patterns("execute_code", text, _RUNNING)
    shell = next((word for word in text.words if word in capabilities.SHELLS), None)
    is_formula = not capabilities.FORMULAS.isdisjoint(text.first_words) and capabilities.SURE_CODE.isdisjoint(
        text.first_words
    )
    if shell is not None and (named is None or code is not None or len(text.words) == 1) and not is_formula:
        yield by_word("execute_code", shell)
    sentence = text.sentences[0] if text.sentences else ""
    phrase = _CODE_PHRASE.search(sentence)
    if phrase is not None and _NOT_RUN.search(sentence[: phrase.start()]) is None:
        yield by_word("execute_code", phrase[0], "description")
    if not text.read_only:
        yield from _code_parameters(text)


_PROPER_NOUN = re.compile(r"\b(?:[A-Z]+[a-z]+[A-Z]\w*|[A-Z][a-z]+|[A-Z]{2,})\b")
_PROGRAMS = capabilities.CODE | capabilities.SHELLS | word_set("docker git kubernetes linux mac macos unix windows")


def _is_code(act: Act, text: ToolText) -> bool:
    """Whether the object of an executing verb is a command, or code in a general language."""
    words = act.object[:6]
    named = {word.lower() for word in _PROPER_NOUN.findall(text.opening)} - _PROGRAMS
    if any(before in named and word in {"command", "commands"} for before, word in pairwise(act.object)):
        return False  # "an OpenBB command" is a request to that product
    if capabilities.NOT_CODE.isdisjoint(words):
        return not capabilities.CODE.isdisjoint(words)
    return not capabilities.SURE_CODE.isdisjoint(words) and "workflow" not in words


def _code_parameters(text: ToolText) -> Iterator[CapabilityMatch]:
    """Parameters whose description states that they are executed."""
    executes = any(act.verb in capabilities.EXECUTING for act in text.acts)
    for name in parameters_with(text, capabilities.SURE_CODE_PARAMETERS | {"code"}):
        described = described_by(text.parameters[name])
        about = text.first_words.union(words_of(described))
        if _RUN.search(described) is None or not capabilities.NOT_CODE.isdisjoint(about):
            continue
        if executes or words_of(name)[-1] != "code":
            yield by_parameter("execute_code", name, "is executed")


_SAVED = re.compile(
    r"\b(?:to|will be|where|is|are|be) (?:(?:the|a|it|this|output|file|result)\w* ){0,3}?"
    r"(?:sav|writ|stor|export|download)\w*"
    r"|\b(?:sav|writ|stor|export|download)(?:e|es|ed|ing|ten)\b[^.]{0,40}\b(?:to|in|into|at|as)\b"
    r"|\boutput (?:file|path|director)",
    re.IGNORECASE,
)
"""The description of a parameter that names a file to write."""
_SAVES = re.compile(
    r"\b(?:saves?|writes?|exports?|dumps?|saved|written|exported)\b (?:\w+ ){0,4}?(?:to|in|into|as) "
    r"(?:\w+ ){0,3}?(?:files?|disk|folder|directory|\$\w+)\b"
    r"|\bsaves? (?:\w+ ){0,2}(?:file|directory)\b"
)


def write_files(text: ToolText) -> Iterator[CapabilityMatch]:
    """Files that a tool writes, moves or deletes on the machine of the server."""
    is_remote = _is_remote(text)
    stated = [act for act in effects(text) if act.source != "schema"]
    for act in stated:
        if _is_about_link(act, text):
            continue
        # What only a sentence calls the deletion of files is one fact, which `delete_data` reports.
        is_deletion = act.source == "description" and act.verb in capabilities.DELETING | capabilities.MAY_DELETE
        if act.verb in capabilities.FILE_COMMANDS or not (is_remote or is_deletion or not _writes_file(act, text)):
            yield by_act("write_files", act, is_overwriting=act.verb in capabilities.OVERWRITING)
    if is_remote:
        return
    for sentence in text.sentences:
        phrase = _SAVES.search(sentence)
        if phrase is not None:
            yield by_word("write_files", phrase[0], "description")
    changes = (act for act in stated if act.verb in capabilities.CHANGING_DOCUMENTS and not _is_about_link(act, text))
    changing = next(changes, None)
    for name in text.parameters:
        words = words_of(name)
        if not capabilities.FILE_PARAMETERS.isdisjoint(words[-1:]) or words[-2:] == ["save", "to"]:
            yield from _by_file_parameter(text, name, words, changing)


def _writes_file(act: Act, text: ToolText) -> bool:
    """Whether the object of a writing verb is a file; of a name only its last noun counts (`path_map`)."""
    if act.verb not in capabilities.WRITING:
        return False
    last = 2 if act.head in capabilities.PARTS_OF_FILES else 1
    words = {*act.object[:5]} if act.source == "description" else {*act.object[-last:]}
    if words & {"folder", "folders"} and capabilities.FILES.isdisjoint(text.parameter_words):
        return False  # a folder of mails or dashboards
    return not capabilities.FILES.isdisjoint(words - {"path", "paths"})


_EXPORTING = word_set("backup dump export plot save")
_IMPORTING = word_set("import importing imports")


def _by_file_parameter(text: ToolText, name: str, words: list[str], changing: Act | None) -> Iterator[CapabilityMatch]:
    """A parameter that names a file to write, or a document to change."""
    described = described_by(text.parameters[name])
    if not capabilities.OUTPUTS.isdisjoint(words) or _SAVED.search(described) is not None:
        if capabilities.REMOTE_STORES.isdisjoint(words_of(described)):
            yield by_parameter("write_files", name, "names a file to write")
    elif (
        (named := text.name_act) is not None
        and named.verb in _EXPORTING
        and words != ["path"]
        and capabilities.READ_PARAMETERS.isdisjoint(words)
    ):
        why = f"`{named.verb}` in its name, and its parameter `{name}` names the file"
        yield CapabilityMatch("write_files", named.verb, "name", why)
    elif changing is None or not (
        capabilities.READ_PARAMETERS.isdisjoint(words) and _IMPORTING.isdisjoint(text.first_words)
    ):
        return
    elif _is_document(text, words, described):
        # To move a part of a document, such as a slide, overwrites nothing.
        verb, is_overwriting = changing.verb, changing.verb in capabilities.OVERWRITING - {"move"}
        why = f"`{verb}` in {WHERE[changing.source]}, and its parameter `{name}` names the file"
        yield CapabilityMatch("write_files", f"{verb}_{name}", "schema", why, is_overwriting=is_overwriting)


def _is_document(text: ToolText, words: list[str], described: str) -> bool:
    """Whether a path is that of a document, or is accompanied by the content to write."""
    if words == ["filename"] or not {"content", "contents"}.isdisjoint(text.parameters):
        return True
    about = text.first_words.union(words_of(described), text.parameter_words - capabilities.FILES)
    return not capabilities.DOCUMENTS.isdisjoint(about) and "git" not in about


def _is_remote(text: ToolText) -> bool:
    """Whether the files of a tool are in a repository, a bucket or another service."""
    files = (schema for name, schema in text.parameters.items() if not capabilities.FILES.isdisjoint(words_of(name)))
    about = " ".join([*text.sentences[:1], *(described_by(schema).lower() for schema in files)])
    if any(word in about for word in capabilities.LOCAL):
        return False
    is_named = not {"branch", "bucket", "owner", "repo"}.isdisjoint(text.parameter_words)
    return is_named or not capabilities.REMOTE.isdisjoint(text.first_words)


_TIED_TO_SITE = re.compile(r"\b(?:must|only|domain|docs?|documentation|deployed|search results?|your)\b", re.IGNORECASE)
"""The description of a URL that cannot be any URL."""
_OWN_PAGES = re.compile(
    r"\b(?!(?:CSV|HTML|HTTPS?|JSON|PDF|XML|URLs?|The|An?)\b)(?:[A-Z]{2,}|[A-Z][a-z]+[A-Z]?\w*) "
    r"(?:(?!at|by|for|from|in|of|to)[a-z]+ ){0,2}(?:URL|page|pages|replay|resource|video)\b"
)
"""Pages of one product: "all Wikipedia pages"."""
_BROWSES = re.compile(
    r"\b(?:browses|navigates|crawls|scrapes) (?:\w+ ){0,3}?(?:web|internet|websites?|web ?pages?|urls?)\b"
)
_TRANSFER = (
    ActPattern(word_set("download upload"), objects=capabilities.TRANSFERRED),
    ActPattern(word_set("upload"), parameters=capabilities.TRANSFERRED, sources=("name", "description")),
    ActPattern(word_set("call execute issue make perform send"), objects=word_set("http https")),
)


def network_access(text: ToolText) -> Iterator[CapabilityMatch]:
    """URLs of the caller that a tool requests, and files that it uploads or downloads."""
    url = next(_url_parameters(text), None)
    if text.closed and url is None:
        return
    is_tied = _OWN_PAGES.search(text.opening) is not None and {"http", "url", "web"}.isdisjoint(text.words)
    is_web = not capabilities.WEB.isdisjoint(text.first_words) and not is_tied
    for act in text.acts:
        if act.source == "schema":
            continue
        if act.verb in capabilities.BROWSING and (url is not None or not capabilities.WEB.isdisjoint(act.words[:7])):
            yield by_act("network_access", act)
        if url is not None and is_web and act.verb in capabilities.FETCHING:
            why = f"`{act.verb}` in {WHERE[act.source]}, with the parameter `{url}`"
            yield CapabilityMatch("network_access", act.keyword, act.source, why)
        if any(pattern.fits(act, text) for pattern in _TRANSFER):
            yield by_act("network_access", act)
    for sentence in text.sentences:
        phrase = _BROWSES.search(sentence)
        if phrase is not None:
            yield by_word("network_access", phrase[0], "description")
    named = text.name_act
    if named is None or named.verb not in {"get", "list", "view"}:
        for word in text.words:
            if (word in {"curl", "wget"} and "to" not in text.words) or (
                word == "http" and {"request", "client", "fetch"} & set(text.words)
            ):
                yield by_word("network_access", word)


_ANY_HOST = re.compile(r"\^?\(?https?[?)]*:?(?:\\?/)*(?:$|[.(\[]|\\[Sw])")
"""The beginning of a pattern for URLs that leaves their host open."""


def _url_parameters(text: ToolText) -> Iterator[str]:
    """Parameters for any URL: neither a fixed choice nor tied to one site."""
    for name in parameters_with(text, capabilities.URL_PARAMETERS):
        schema = text.parameters[name]
        is_narrow = "pattern" in schema and _ANY_HOST.match(str(schema["pattern"])) is None
        is_stored = not capabilities.STORED_URLS.isdisjoint(words_of(name))
        if not is_narrow and not is_stored and not _TIED_TO_SITE.search(described_by(schema)):
            yield name


_FINDERS = (
    execute_code,
    access_credentials,
    write_files,
    admin_control,
    delete_data,
    send_message,
    financial_action,
    network_access,
)


def capabilities_of(tool: Tool) -> list[CapabilityMatch]:
    """Return the capabilities of a tool, at most one match for each."""
    text = text_of(tool)
    # Finders are generators, so each stops at its first match.
    matches = (next(find(text), None) for find in _FINDERS)
    return [match for match in matches if match is not None]


def destruction_of(tool: Tool) -> CapabilityMatch | None:
    """Return what shows that a tool deletes data; None if nothing does. `scan` and `prove` decide by it alone."""
    return next(delete_data(text_of(tool)), None)
