"""A suite from its file: everything that is wrong with it is said, with its place, before anything is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import nearest
from mcproof.suite import model, targets, variables
from mcproof.suite.matchers import NAMES, NOT, MatcherError, matcher_of
from mcproof.suite.model import Expect, Expectation, Fuzz, NegativePath, Place, ServerEntry, Step, Suite, SuiteTest
from mcproof.suite.problems import MOST, Problem, SuiteError
from mcproof.suite.snapshots import KINDS, Mask, mask_of
from mcproof.suite.targets import TargetError, parse_target, quality_refusal, refusal
from mcproof.suite.yamltext import MAX_BYTES, Node, decode, parse, plain
from mcproof.trial import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.suite.matchers import Matcher

TOP_KEYS = ("servers", "variables", "imports", "setup", "teardown", *model.BLOCKS)
SERVER_KEYS = ("command", "url", "env", "headers", "auth", "cwd", "timeout_ms", "protocol")
TEST_KEYS = {
    "tools": ("name", "server", "tool", "args", "expect", "tags", "timeout_ms", "negative_path", "fuzz"),
    "resources": ("name", "server", "uri", "expect", "tags", "timeout_ms"),
    "prompts": ("name", "server", "prompt", "args", "expect", "tags", "timeout_ms"),
    "tool_quality": ("name", "server", "expect", "tags"),
}
SUBJECTS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
"""The key that says what a test calls."""
ASSERTION_KEYS = ("target", "matcher", "message")
MOST_IMPORTS = 100
LONGEST_WAIT = 3_600_000
"""A time limit, in milliseconds."""
_SHOWN = 60


class _Document(NamedTuple):
    """One file of a suite."""

    file: str
    root: Node


def read_suite(file: str, environment: Mapping[str, str] | None) -> Suite:
    """A suite with all that it imports. Raises SuiteError with everything that is wrong with it.

    Without an environment nothing will be started, and what only the environment knows is not missed.
    """
    problems: list[Problem] = []
    documents = _Loading(problems).load(file)
    if not documents:
        raise SuiteError(problems)
    secrets: list[str] = []
    merged = _variables(documents, problems)
    reading = _Reading(problems)
    for document in documents:
        known = {variables.FOLDER: os.path.dirname(os.path.abspath(document.file)), **merged}
        filler = variables.Filler(known, environment, _complainer(document.file, problems), secrets)
        reading.add(document.file, filler.filled(document.root), environment, secrets)
    suite = reading.suite(file, secrets)
    if problems:
        order = {document.file: number for number, document in enumerate(reversed(documents))}
        problems.sort(key=lambda each: (order.get(each.file, 0), each.line or 0, each.column or 0))
        raise SuiteError(list(dict.fromkeys(problems))[:MOST])
    return suite


def _complainer(file: str, problems: list[Problem]) -> Callable[[Node, str], None]:
    return lambda node, message: problems.append(Problem(file, node.line, node.column, message))


class _Loading:
    """The files of a suite, those first that are imported."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._done: dict[str, None] = {}
        self._documents: list[_Document] = []

    def load(self, file: str) -> list[_Document]:
        self._load(file, ())
        return self._documents

    def _load(self, file: str, chain: tuple[str, ...]) -> None:
        try:
            root = parse(decode(_read(file), file), file)
        except SuiteError as error:
            self._problems += error.problems
            return
        complain = _complainer(file, self._problems)
        if not isinstance(root.value, dict):
            complain(root, f"a suite is a mapping with {', '.join(TOP_KEYS)}, and this is {root.kind}")
            return
        real = os.path.realpath(file)
        self._done[real] = None
        chain = (*chain, real)
        imports = root.value.get("imports")
        for node in _items(imports, complain, "`imports`") if imports is not None else ():
            if not isinstance(node.value, str) or not node.value:
                complain(node, f"an import is the path of a file, and this is {node.kind}")
                continue
            name = os.path.normpath(os.path.join(os.path.dirname(file), node.value))
            target = os.path.realpath(name)
            if target in chain:
                complain(node, f"`{node.value[:_SHOWN]}` imports itself, or is imported by what it imports")
            elif not os.path.isfile(name):
                complain(node, f"there is no file `{name}` to import")
            elif len(self._done) >= MOST_IMPORTS:
                complain(node, f"more than {MOST_IMPORTS} files are imported")
                return
            elif target not in self._done:
                self._load(name, chain)
        self._documents.append(_Document(file, root))


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        why = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise SuiteError([Problem(file, None, None, why)]) from None


def _items(node: Node, complain: Callable[[Node, str], None], what: str) -> list[Node]:
    if isinstance(node.value, list):
        return node.value
    complain(node, f"{what} is a list, and this is {node.kind}")
    return []


def _variables(documents: list[_Document], problems: list[Problem]) -> dict[str, Any]:
    """The variables of all files; those of the file that imports another win."""
    found: dict[str, Any] = {}
    for file, root in documents:
        complain = _complainer(file, problems)
        node = root.value.get("variables") if isinstance(root.value, dict) else None
        if node is None:
            continue
        if not isinstance(node.value, dict):
            complain(node, f"`variables` is a mapping, and this is {node.kind}")
            continue
        for name, value in node.value.items():
            if variables.NAME.fullmatch(name) is None or name == variables.FOLDER:
                complain(value, f"`{name[:_SHOWN]}` is no name for a variable; it takes letters, digits and `_`")
            elif isinstance(value.value, dict | list):
                complain(value, f"the variable `{name[:_SHOWN]}` is a text, a number, true or false, not {value.kind}")
            else:
                found[name] = value.value
    return found


class _Reading:
    """Filled-in documents in, a suite out."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._file = ""
        self._servers: dict[str, ServerEntry] = {}
        self._tests: list[SuiteTest] = []
        self._names: dict[tuple[str, str], Place] = {}
        self._used: list[tuple[str, Place]] = []
        """The servers that are named somewhere, to be looked up when all are known."""
        self._setup: list[Step] = []
        self._teardown: list[Step] = []
        self._environment: Mapping[str, str] | None = None
        self._secrets: list[str] = []

    def add(self, file: str, root: Node, environment: Mapping[str, str] | None, secrets: list[str]) -> None:
        """Read one document."""
        self._file, self._environment, self._secrets = file, environment, secrets
        members = self._mapping(root, "a suite", TOP_KEYS)
        servers = members.get("servers")
        if servers is not None:
            for name, node in self._any_mapping(servers, "`servers`").items():
                self._server(name, node, servers.keys[name])
        for key, steps in (("setup", self._setup), ("teardown", self._teardown)):
            if key in members:
                steps += [step for node in self._list(members[key], f"`{key}`") if (step := self._step(node))]
        for block in model.BLOCKS:
            if block in members:
                for node in self._list(members[block], f"`{block}`"):
                    self._test(block, node)

    def suite(self, file: str, secrets: list[str]) -> Suite:
        """What was read."""
        names = list(self._servers)
        for name, place in self._used:
            if name not in self._servers:
                there = f"there are {', '.join(names)}" if names else "there is no `servers` block"
                self._problems.append(
                    Problem(*place, f"unknown server `{name[:_SHOWN]}`{nearest(name, names)}; {there}")
                )
        if not self._tests and not self._problems:
            what = f"nothing to test: there is none of {', '.join(model.BLOCKS)}"
            self._problems.append(Problem(file, 1, 1, what))
        folder = os.path.dirname(os.path.abspath(file))
        tests, setup, teardown = tuple(self._tests), tuple(self._setup), tuple(self._teardown)
        return Suite(file, self._servers, tests, setup, teardown, tuple(dict.fromkeys(secrets)), folder)

    # What is wrong, and the simple kinds of values

    def _complain(self, node: Node, message: str) -> None:
        self._problems.append(Problem(self._file, node.line, node.column, message))

    def _place(self, node: Node) -> Place:
        return Place(self._file, node.line, node.column)

    def _any_mapping(self, node: Node, what: str) -> dict[str, Node]:
        if isinstance(node.value, dict):
            return node.value
        self._complain(node, f"{what} is a mapping, and this is {node.kind}")
        return {}

    def _mapping(self, node: Node, what: str, known: Iterable[str], needed: tuple[str, ...] = ()) -> dict[str, Node]:
        """The members of a mapping that are known; what is unknown or missing is said."""
        if not isinstance(node.value, dict):
            self._complain(node, f"{what} is a mapping, and this is {node.kind}")
            return {}
        listed = list(known)
        for key in node.value:
            if key not in listed:
                hint = f"{nearest(key, listed)}; there are {', '.join(listed)}"
                message = f"unknown key `{key[:_SHOWN]}` in {what}{hint}"
                self._problems.append(Problem(self._file, *node.keys[key], message))
        for key in needed:
            if key not in node.value:
                self._complain(node, f"{what} lacks `{key}`")
        return {key: member for key, member in node.value.items() if key in listed}

    def _list(self, node: Node, what: str) -> list[Node]:
        return _items(node, self._complain, what)

    def _text(self, node: Node | None, what: str) -> str:
        """A text that is not empty; else "" and a complaint."""
        if node is None:
            return ""
        if isinstance(node.value, str) and node.value:
            return node.value
        if isinstance(node.value, str):
            self._complain(node, f"{what} is empty")
        else:
            quotes = "; put it in quotes" if isinstance(node.value, int | float) else ""
            self._complain(node, f"{what} is a text, and this is {node.kind}{quotes}")
        return ""

    def _texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        items = self._list(node, what) if node is not None else []
        return tuple(text for item in items if (text := self._text(item, f"an item of {what}")))

    def _number(self, node: Node | None, what: str, least: int, most: int) -> int | None:
        if node is None:
            return None
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self._complain(node, f"{what} is a whole number from {least:,} to {most:,}")
        return None

    # Servers

    def _server(self, name: str, node: Node, key: tuple[int, int]) -> None:
        what = f"the server `{name[:_SHOWN]}`"
        members = self._mapping(node, what, SERVER_KEYS)
        place = Place(self._file, *key)
        if name in self._servers:
            first = self._servers[name].place
            self._problems.append(Problem(*place, f"{what} is there already: {first.file}:{first.line}"))
            return
        if isinstance(node.value, dict) and ("command" in members) == ("url" in members):
            has = "both a `command` and a `url`" if "url" in members else "neither a `command` nor a `url`"
            self._complain(node, f"{what} has {has}; it takes one of them")
        for own, other in (("env", "url"), ("cwd", "url"), ("headers", "command"), ("auth", "command")):
            if own in members and other in members:
                self._complain(members[own], f"`{own}` of {what} makes no sense with a `{other}`")
        self._servers[name] = ServerEntry(
            name,
            place,
            self._command(members.get("command"), f"`command` of {what}"),
            self._url(members.get("url"), what),
            self._pairs(members.get("env"), f"`env` of {what}"),
            {**self._pairs(members.get("headers"), f"`headers` of {what}"), **self._auth(members.get("auth"), what)},
            self._folder(members.get("cwd"), what),
            self._number(members.get("timeout_ms"), f"`timeout_ms` of {what}", 1, LONGEST_WAIT),
            self._revision(members.get("protocol"), what),
        )

    def _command(self, node: Node | None, what: str) -> tuple[str, ...]:
        if node is None:
            return ()
        if isinstance(node.value, str):
            self._complain(node, f"{what} is a list of words, such as [python, server.py]; no shell reads it")
            return ()
        items = self._list(node, what)
        # A program may be given an empty word, and cannot be one.
        words = tuple(
            "" if number and each.value == "" else self._text(each, f"an item of {what}")
            for number, each in enumerate(items)
        )
        if node.value == []:
            self._complain(node, f"{what} is empty")
        if any("\0" in word for word in words):
            self._complain(node, f"{what} has a null character in it")
            return ()
        return words

    def _url(self, node: Node | None, what: str) -> str:
        url = self._text(node, f"`url` of {what}")
        if node is not None and url and not url.lower().startswith(("http://", "https://")) and "${" not in url:
            self._complain(node, f"`url` of {what} is an address that begins with http:// or https://")
        return url

    def _pairs(self, node: Node | None, what: str) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for name, value in (self._any_mapping(node, what) if node is not None else {}).items():
            found = value.value
            if isinstance(found, dict):
                members = self._mapping(value, f"`{name[:_SHOWN]}` in {what}", ("env",), ("env",))
                pairs[name] = self._from_environment(members.get("env"), f"`env` of `{name[:_SHOWN]}`")
            elif isinstance(found, bool):
                pairs[name] = "true" if found else "false"
            elif isinstance(found, str | int | float):
                pairs[name] = str(found)
            else:
                self._complain(
                    value, f"`{name[:_SHOWN]}` in {what} is a text or {{env: NAME}}, and this is {value.kind}"
                )
                continue
            if not name.isprintable() or any(ord(each) < 32 and each != "\t" for each in f"{name}{pairs[name]}"):
                self._complain(value, f"`{name[:_SHOWN]}` in {what} has a control character in it")
        return pairs

    def _from_environment(self, node: Node | None, what: str) -> str:
        name = self._text(node, what)
        if node is None or not name:
            return ""
        if self._environment is None:
            return f"${{{name}}}"
        value = self._environment.get(name)
        if value is None:
            self._complain(node, f"the environment variable {name[:_SHOWN]} is not set")
            return ""
        self._secrets.append(value)
        return value

    def _auth(self, node: Node | None, what: str) -> dict[str, str]:
        if node is None:
            return {}
        known = ("bearer_token_env",)
        members = self._mapping(node, f"`auth` of {what}", known, known)
        token = self._from_environment(members.get("bearer_token_env"), "`bearer_token_env`")
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _folder(self, node: Node | None, what: str) -> str | None:
        name = self._text(node, f"`cwd` of {what}")
        return os.path.join(os.path.dirname(self._file), name) if name else None

    def _revision(self, node: Node | None, what: str) -> str | None:
        from mcproof.live.connection import REVISIONS

        revision = self._text(node, f"`protocol` of {what}")
        if node is not None and revision and revision not in REVISIONS:
            hint = f"{nearest(revision, list(REVISIONS))}; there are {', '.join(REVISIONS)}"
            self._complain(node, f"unknown protocol revision `{revision[:_SHOWN]}`{hint}")
        return revision or None

    def _named_server(self, node: Node | None) -> str:
        name = self._text(node, "`server`")
        if node is not None and name:
            self._used.append((name, self._place(node)))
        return name

    # Steps before and after

    def _step(self, node: Node) -> Step | None:
        members = self._mapping(node, "a step", ("run", "call", "timeout_ms"))
        if isinstance(node.value, dict) and ("run" in members) == ("call" in members):
            self._complain(node, "a step has either `run` or `call`")
            return None
        limit = self._number(members.get("timeout_ms"), "`timeout_ms` of a step", 1, LONGEST_WAIT) or 30_000
        if "run" in members:
            return Step(self._place(node), self._command(members["run"], "`run` of a step"), timeout_ms=limit)
        if "call" not in members:
            return None
        call = self._mapping(members["call"], "`call` of a step", ("server", "tool", "args"), ("server", "tool"))
        server = self._named_server(call.get("server"))
        tool = self._text(call.get("tool"), "`tool` of a step")
        return Step(self._place(node), (), server, tool, self._arguments(call.get("args")) or {}, limit)

    # Tests

    def _test(self, block: str, node: Node) -> None:
        subject = SUBJECTS.get(block)
        needed = ("name", "server", *([subject] if subject is not None else []))
        named = node.value.get("name") if isinstance(node.value, dict) else None
        quoted = named.value[:_SHOWN] if named is not None and isinstance(named.value, str) else ""
        what = f"the test `{quoted}`" if quoted else f"a test in `{block}`"
        members = self._mapping(node, what, TEST_KEYS[block], needed)
        if not isinstance(node.value, dict):
            return
        name = self._text(members.get("name"), f"`name` of {what}")
        if name and (first := self._names.setdefault((block, name), self._place(node))) != self._place(node):
            self._complain(members["name"], f"another test in `{block}` has this name: {first.file}:{first.line}")
        negative, fuzz = members.get("negative_path"), members.get("fuzz")
        blocks = tuple(key for key in targets.BLOCKS if key in members)
        expect = members.get("expect")
        if block == "tool_quality":
            whole = self._expect(expect, name, quality_refusal, measures=False)
        else:
            whole = self._expect(expect, name, lambda target: refusal(target, targets.CALL, blocks), measures=True)
        own, of_blocks = _divided(whole)
        self._tests.append(
            SuiteTest(
                block,
                name,
                self._named_server(members.get("server")),
                self._place(node),
                self._text(members.get(subject), f"`{subject}` of {what}") if subject is not None else "",
                self._arguments(members.get("args")),
                own,
                self._texts(members.get("tags"), f"`tags` of {what}"),
                self._number(members.get("timeout_ms"), f"`timeout_ms` of {what}", 1, LONGEST_WAIT),
                self._negative_path(negative, name, of_blocks) if negative is not None else None,
                self._fuzz(fuzz, name, of_blocks) if fuzz is not None else None,
            )
        )

    def _arguments(self, node: Node | None) -> dict[str, Any] | None:
        if node is None:
            return None
        return {name: plain(value) for name, value in self._any_mapping(node, "`args`").items()}

    def _negative_path(self, node: Node, name: str, more: tuple[Expectation, ...]) -> NegativePath:
        members = {} if node.value is None else self._mapping(node, "`negative_path`", ("checks", "expect"))
        checks = members.get("checks")
        chosen: tuple[str, ...] = CHECKS
        if checks is not None:
            words = [(each, self._text(each, "a check")) for each in self._list(checks, "`checks`")]
            for each, word in words:
                if word and word not in CHECKS:
                    listed = f"{nearest(word, list(CHECKS))}; there are {', '.join(CHECKS)}"
                    self._complain(each, f"unknown check `{word[:_SHOWN]}`{listed}")
            if checks.value == []:
                self._complain(checks, "`checks` is empty; leave it out to send every probe")
            chosen = tuple(known for known in CHECKS if any(word == known for _, word in words))
        return NegativePath(chosen, self._of_block(members.get("expect"), name, "negative_path", more))

    def _fuzz(self, node: Node, name: str, more: tuple[Expectation, ...]) -> Fuzz:
        known = ("seed", "cases", "max_call_ms", "expect")
        members = {} if node.value is None else self._mapping(node, "`fuzz`", known)
        seed = self._number(members.get("seed"), "`seed`", 0, 2**63 - 1)
        cases = self._number(members.get("cases"), "`cases`", 1, 1_000_000)
        limit = self._number(members.get("max_call_ms"), "`max_call_ms`", 1, LONGEST_WAIT)
        usual = Fuzz()
        return Fuzz(
            usual.seed if seed is None else seed,
            cases or usual.cases,
            limit or usual.max_call_ms,
            self._of_block(members.get("expect"), name, "fuzz", more),
        )

    def _of_block(self, node: Node | None, name: str, block: str, more: tuple[Expectation, ...]) -> Expect | None:
        """What must come of a block: what it says itself, and what the test says of it."""
        own = self._expect(node, name, lambda target: refusal(target, (), (block,)), measures=False)
        theirs = tuple(each for each in more if each.target.root == block)
        if own is None:
            return Expect(theirs) if theirs else None
        return Expect((*own.assertions, *theirs))

    # What must come of a test

    def _expect(
        self, node: Node | None, name: str, refuse: Callable[[targets.Target], str | None], *, measures: bool
    ) -> Expect | None:
        if node is None:
            return None
        limit = None
        listed = node
        if isinstance(node.value, dict):
            known = ("assertions", "max_duration_ms") if measures else ("assertions",)
            members = self._mapping(node, "`expect`", known)
            limit = self._number(members.get("max_duration_ms"), "`max_duration_ms`", 1, LONGEST_WAIT)
            if "assertions" not in members:
                return Expect((), limit)
            listed = members["assertions"]
        elif not isinstance(node.value, list):
            self._complain(node, f"`expect` is a list, or a mapping with `assertions`, and this is {node.kind}")
            return None
        if listed.value == []:
            self._complain(listed, "nothing is expected here; leave `expect` out to get the default")
        items = self._list(listed, "`assertions`")
        return Expect(tuple(found for each in items if (found := self._assertion(each, name, refuse))), limit)

    def _assertion(self, node: Node, name: str, refuse: Callable[[targets.Target], str | None]) -> Expectation | None:
        members = self._mapping(node, "an assertion", ASSERTION_KEYS, ("target", "matcher"))
        message = self._text(members.get("message"), "`message`")
        target = self._target(members.get("target"), refuse)
        found = self._matcher(members["matcher"]) if "matcher" in members else None
        if target is None or found is None:
            return None
        matcher, options = found
        if matcher.name != "snapshot":
            return Expectation(target, matcher, message, self._place(node))
        label, mask = self._snapshot(options, members["matcher"])
        stored = label or f"{name}: {target.text}"
        return Expectation(target, matcher, message, self._place(node), stored, mask)

    def _target(self, node: Node | None, refuse: Callable[[targets.Target], str | None]) -> targets.Target | None:
        text = self._text(node, "`target`")
        if node is None or not text:
            return None
        try:
            target = parse_target(text)
        except TargetError as error:
            self._complain(node, f"the target `{text[:_SHOWN]}` {error}")
            return None
        if (why := refuse(target)) is not None:
            self._complain(node, why)
            return None
        return target

    def _matcher(self, node: Node, *, is_negated: bool = False) -> tuple[Matcher, Node] | None:
        known = NAMES if is_negated else (*NAMES, NOT)
        if not isinstance(node.value, dict) or len(node.value) != 1:
            what = f"{len(node.value)} of them" if isinstance(node.value, dict) else node.kind
            self._complain(node, f"a matcher is a mapping with one key, such as {{contains: text}}, and this is {what}")
            return None
        ((name, value),) = node.value.items()
        if name not in known:
            hint = f"{nearest(name, list(known))}; there are {', '.join(known)}"
            self._problems.append(Problem(self._file, *node.keys[name], f"unknown matcher `{name[:_SHOWN]}`{hint}"))
            return None
        if name == NOT:
            return self._matcher(value, is_negated=True)
        if is_negated and name == "snapshot":
            self._problems.append(Problem(self._file, *node.keys[name], "`not` makes no sense with `snapshot`"))
            return None
        try:
            return matcher_of(name, plain(value), is_negated=is_negated), value
        except MatcherError as error:
            self._complain(value, str(error))
            return None

    def _snapshot(self, node: Node, matcher: Node) -> tuple[str, Mask]:
        """The name of a snapshot, where it has one of its own, and what it does not compare."""
        if node.value is True:
            return "", Mask()
        if isinstance(node.value, str) and node.value:
            return node.value, Mask()
        if not isinstance(node.value, dict):
            self._complain(node, f"`snapshot` is true, a name, or a mapping with `name` and `mask`, not {node.kind}")
            return "", Mask()
        members = self._mapping(node, "`snapshot`", ("name", "mask"))
        label = self._text(members.get("name"), "`name` of a snapshot")
        try:
            return label, mask_of(list(self._texts(members.get("mask"), "`mask`")))
        except TargetError as error:
            said = str(error)
            self._complain(
                members.get("mask", matcher), said if "mask" in said else f"`mask`: a path {said}, or {_kinds()}"
            )
            return label, Mask()


def _kinds() -> str:
    return " or ".join(f"`{kind}`" for kind in KINDS)


def _divided(whole: Expect | None) -> tuple[Expect | None, tuple[Expectation, ...]]:
    """What is expected of the call itself, and what of the blocks beside it."""
    if whole is None:
        return None, ()
    of_blocks = tuple(each for each in whole.assertions if each.target.root in targets.BLOCKS)
    own = tuple(each for each in whole.assertions if each.target.root not in targets.BLOCKS)
    if of_blocks and not own and whole.max_duration_ms is None:
        return None, of_blocks
    return Expect(own, whole.max_duration_ms), of_blocks
