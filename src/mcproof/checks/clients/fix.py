"""Fix a catalog for clients: edit its schemas, and keep only edits that make no client worse off.

The edits of a tool are made in rounds, each on the text that the last one left. A round is kept if it makes the tool
worse in no client, and breaks no size constraint anew; otherwise its edits are tried one by one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from mcproof.checks.clients.hits import ClientChecks, ClientHit
from mcproof.checks.clients.profiles import RANK, ClientChoice
from mcproof.checks.clients.schema_edits import SINGLE_EDITS, EditedSchema, Inlining, Obstacle, SchemaText, indent_of
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.tree import SchemaTree
from mcproof.core.text.json_document import Edit, RevisedText

SCHEMAS = ("inputSchema", "outputSchema")
SIZE_KINDS = frozenset(
    {"tool.bytes", "input.bytes", "input.large_lossy", "input.depth", "input.properties", "input.string_total"}
    | {"input.enum_total", "tools.bytes", "optional_params.max", "union_params.max"}
)
"""Kinds of constraint on totals, which an edit must not break anew whatever else it gains."""
_MOST_ROUNDS = 20
_MOST_TRIES = 60
"""The most single edits to try on a tool after a round as a whole has been refused."""
_TOO_MANY = "the tool needs too many edits"


class UnfixedHit(NamedTuple):
    """A place that a client objects to and that is not edited."""

    tool: Tool
    rule: str
    pointer: str
    reason: str


class ClientFixes(NamedTuple):
    """The edits of a catalog for clients."""

    edits: list[Edit]
    """The edits of the original text, in ascending order."""
    unfixed: list[UnfixedHit]
    """What the edits leave for the author, with the reasons."""


class WorstEffects:
    """The broken constraints of a tool, or of the server as a whole, and their worst effect in each client."""

    def __init__(self, hits: Iterable[ClientHit]) -> None:
        self._worst: dict[tuple[str, str], tuple[int, ClientHit]] = {}
        self._broken: dict[tuple[str, str], ClientHit] = {}
        for hit in hits:
            active = hit.active
            # Each mode by itself, so that an effect in one that few users turn on does not hide a new effect for
            # everybody.
            mode = "usual" if active.holds else "opt-in" if active.constraint.opt_in else "other"
            rank = RANK[active.constraint.effect]
            worst = self._worst.get((active.profile.id, mode))
            if worst is None or rank < worst[0]:
                self._worst[active.profile.id, mode] = (rank, hit)
            self._broken.setdefault(active.key, hit)

    def worse_than(self, before: WorstEffects) -> str | None:
        """Where this is worse than before, in words; None if it is not."""
        for key, hit in self._broken.items():
            fact = hit.active.constraint
            if key not in before._broken and (fact.kind in SIZE_KINDS or hit.level != "note"):
                return f"that would break {fact.rule} in {hit.active.profile.name}"
        for place, (rank, hit) in self._worst.items():
            if place not in before._worst or rank < before._worst[place][0]:
                return f"that would break {hit.active.constraint.rule} in {hit.active.profile.name}"
        return None


def fix_for_clients(
    catalog: Catalog, choice: ClientChoice, rules: Mapping[int, Collection[str]], server_key: str = ""
) -> ClientFixes:
    """Return the edits that fix a catalog for the chosen clients, at no cost for any client.

    `rules` has, for the index of each tool to fix, the rules to fix.
    """
    fixer = _CatalogFixer(catalog, choice, server_key)
    edits = [edit for draft in fixer.fixed(rules).values() for edit in draft.edits()]
    return ClientFixes(sorted(edits), fixer.unfixed)


def is_fixable_for_clients(
    catalog: Catalog, choice: ClientChoice, rules: Mapping[int, Collection[str]], server_key: str = ""
) -> bool:
    """Whether `fix_for_clients` has an edit; stops at the first tool with one."""
    fixer = _CatalogFixer(catalog, choice, server_key)
    return any(fixer.fixed({index: rules[index]}) for index in sorted(rules))


class _ToolDraft:
    """A tool with the current text of its schemas."""

    def __init__(self, tool: Tool, schemas: dict[str, SchemaText], offsets: dict[str, int]) -> None:
        self.schemas = schemas
        self.offsets = offsets
        """Where each schema starts in the document."""
        values = {name: schema.value for name, schema in schemas.items()}
        self.tool = Tool({**tool.fields, **values}, tool.pointer, tool.index)
        self.tool.source = tool.source

    def with_schema(self, name: str, schema: SchemaText) -> _ToolDraft:
        return _ToolDraft(self.tool, {**self.schemas, name: schema}, self.offsets)

    @property
    def growth(self) -> int:
        """How many characters the edits add."""
        return sum(len(edit.replacement) - (edit.end - edit.start) for edit in self.edits())

    def edits(self) -> Iterator[Edit]:
        """The edits of the document."""
        for name, schema in self.schemas.items():
            yield from schema.revised.edits(self.offsets[name])


class _CatalogFixer:
    def __init__(self, catalog: Catalog, choice: ClientChoice, server_key: str) -> None:
        self._catalog = catalog
        self._checks = ClientChecks(ClientChoice(choice.profiles).all_active(), server_key)
        self._server_key = self._checks.key_of(catalog)
        self._wanted = {active.key for active in choice.for_compat()}
        self.unfixed: list[UnfixedHit] = []

    def fixed(self, rules: Mapping[int, Collection[str]]) -> dict[int, _ToolDraft]:
        """The tools that fixes change, by their index."""
        drafts: dict[int, _ToolDraft] = {}
        for index, draft in _drafts_of([self._catalog.tools[index] for index in sorted(rules)], self._catalog).items():
            run = _ToolFixer(draft, rules[index], self._wanted, self._hits_on)
            run.fix()
            left = run.unfixed.items()
            self.unfixed += [UnfixedHit(draft.tool, rule, pointer, reason) for (rule, pointer), reason in left]
            if any(True for _ in run.draft.edits()):
                drafts[index] = run.draft
        # The drafts that grow most are given up, until the catalog as a whole breaks no new constraint.
        before = self._effects_with({})
        while drafts and (reason := self._effects_with(drafts).worse_than(before)) is not None:
            largest = max(drafts, key=lambda index: drafts[index].growth)
            del drafts[largest]
            self.unfixed.append(UnfixedHit(self._catalog.tools[largest], "", "", reason))
        return drafts

    def _hits_on(self, tool: Tool) -> list[ClientHit]:
        return self._checks.on_tool(tool, self._server_key)

    def _effects_with(self, drafts: dict[int, _ToolDraft]) -> WorstEffects:
        catalog = copy.copy(self._catalog)
        catalog.tools = [
            drafts[index].tool if index in drafts else tool for index, tool in enumerate(self._catalog.tools)
        ]
        hits = [hit for part in catalog.by_server() for hit in self._checks.on_server(part)]
        for tool in catalog.tools:
            tool.release_tree()
        return WorstEffects(hits)


class _Wanted(NamedTuple):
    """An edit that clients ask for: what it does, where, and the rules that report it."""

    schema: str
    edit: str
    """A key of `SINGLE_EDITS`, or `$ref`."""
    path: str
    """The pointer of the edited object in the schema."""


class _ToolFixer:
    """Fixes one tool in rounds."""

    def __init__(
        self,
        draft: _ToolDraft,
        rules: Collection[str],
        wanted: Collection[tuple[str, str]],
        find: Callable[[Tool], list[ClientHit]],
    ) -> None:
        self.draft = draft
        self._rules = rules
        self._wanted = wanted
        self._find = find
        self._refused: dict[_Wanted, str] = {}
        self._tries = 0
        self._hits = find(draft.tool)
        self.unfixed: dict[tuple[str, str], str] = {}
        """The reason for each rule and pointer that is left."""

    def fix(self) -> None:
        """Make edits until there are none left to make, or give up and make none."""
        original, hits = self.draft, self._hits
        for _ in range(_MOST_ROUNDS):
            before = self.draft
            while self._round():
                pass
            if self.draft is before or self._tries > _MOST_TRIES:
                break
            self._refused.clear()  # another edit may have removed the obstacle
        else:
            self._tries = _MOST_TRIES + 1
        if self._tries > _MOST_TRIES:
            self.draft, self._hits = original, hits
        for hit, request in self._requests():
            reason = _TOO_MANY if self._tries > _MOST_TRIES else self._refused.get(request)
            if reason is not None:
                self.unfixed.setdefault((hit.active.constraint.rule, hit.pointer), reason)
        self.draft.tool.release_tree()

    def _requests(self) -> Iterator[tuple[ClientHit, _Wanted]]:
        """The edits that can resolve a hit of a wanted client, with the hit."""
        for hit in self._hits:
            if hit.active.key in self._wanted and hit.active.constraint.rule in self._rules:
                yield from ((hit, request) for request in _edits_for(hit, self.draft))

    def _round(self) -> bool:
        """Make the edits of one kind in one schema; whether there were any."""
        if self._tries > _MOST_TRIES:
            return False
        asked: dict[tuple[str, str], dict[str, _Wanted]] = {}
        for _, request in self._requests():
            if request not in self._refused:
                asked.setdefault((request.schema, request.edit), {})[request.path] = request
        for (name, edit), wanted in asked.items():
            possible, reason = self._edit(name, edit, wanted)
            if possible and reason is None:
                return True
            # One bad edit refuses all, so that each is tried alone.
            successes = [self._keep_one(name, edit, wanted[path]) for path in possible]
            if any(successes):
                return True
        return False

    def _edit(self, name: str, edit: str, wanted: dict[str, _Wanted]) -> tuple[list[str], str | None]:
        """Make edits of one kind together; return where they are possible, and why none was made."""
        schema = EditedSchema(self.draft.schemas[name])
        try:
            possible, make = (
                self._inlining(schema, name, wanted) if edit == "$ref" else self._single(schema, edit, wanted)
            )
            return possible, self._keep(name, make(possible)) if possible else None
        finally:
            schema.release()

    def _keep_one(self, name: str, edit: str, wanted: _Wanted) -> bool:
        """Make one edit on the current text if it makes nothing worse."""
        self._tries += 1
        if self._tries > _MOST_TRIES:
            self._refused[wanted] = _TOO_MANY
            return False
        possible, reason = self._edit(name, edit, {wanted.path: wanted})
        if reason is not None:
            self._refused[wanted] = reason
        return bool(possible) and reason is None

    def _single(
        self, schema: EditedSchema, edit: str, wanted: dict[str, _Wanted]
    ) -> tuple[list[str], Callable[[list[str]], list[Edit]]]:
        """The places where an edit of one object is possible, and how to make those chosen."""
        edits: dict[str, list[Edit]] = {}
        for path, request in wanted.items():
            node = schema.nodes.get(path)
            if schema.obstacle is not None or node is None or not node.is_usual:
                self._refused[request] = schema.obstacle or "it is not at the position of a schema"
                continue
            outcome = SINGLE_EDITS[edit](schema, node)
            if isinstance(outcome, Obstacle):
                self._refused[request] = outcome.reason
            else:
                edits[path] = outcome
        return list(edits), lambda chosen: [edit for path in chosen for edit in edits[path]]

    def _inlining(
        self, schema: EditedSchema, name: str, wanted: dict[str, _Wanted]
    ) -> tuple[list[str], Callable[[list[str]], list[Edit]]]:
        """The references that can be replaced, and how to replace those chosen."""
        if schema.obstacle is not None:
            self._refused.update(dict.fromkeys(wanted.values(), schema.obstacle))
            return [], lambda _: []
        refused = {request.path for request in self._refused if request.schema == name and request.edit == "$ref"}
        inlining = Inlining(schema, wanted, refused)
        self._refused.update((wanted[path], reason) for path, reason in inlining.obstacles.items())
        return list(inlining.ready), inlining.edits

    def _keep(self, name: str, edits: list[Edit]) -> str | None:
        """Make these edits, unless they make a client worse off; then return how."""
        draft = self.draft.with_schema(name, self.draft.schemas[name].after(edits))
        hits = self._find(draft.tool)
        reason = WorstEffects(hits).worse_than(WorstEffects(self._hits))
        draft.tool.release_tree()
        if reason is None:
            self.draft, self._hits = draft, hits
        return reason


def _drafts_of(tools: list[Tool], catalog: Catalog) -> dict[int, _ToolDraft]:
    """The tools that have schemas, by their index."""
    document = catalog.document
    holders = {
        f"{tool.pointer}/{name}": (tool, name)
        for tool in tools
        for name in SCHEMAS
        if isinstance(tool.fields.get(name), dict)
    }
    drafts: dict[int, _ToolDraft] = {}
    schemas: dict[int, dict[str, SchemaText]] = {}
    offsets: dict[int, dict[str, int]] = {}
    for pointer, (start, end) in ((pointer, span[1:]) for pointer, span in document.spans(holders).items()):
        tool, name = holders[pointer]
        schema = SchemaText(RevisedText(document.text[start:end]), indent_of(document.text, start))
        schemas.setdefault(tool.index, {})[name] = schema
        offsets.setdefault(tool.index, {})[name] = start
        drafts[tool.index] = _ToolDraft(tool, schemas[tool.index], offsets[tool.index])
    return drafts


def _edits_for(hit: ClientHit, draft: _ToolDraft) -> Iterator[_Wanted]:
    """The edits that can resolve a hit."""
    _, name, *_ = [*hit.pointer.split("/"), ""]
    if name not in draft.schemas:
        return
    fact = hit.active.constraint
    if fact.kind == "input.root_requires":
        if "properties" in fact.params["keywords"] and "properties" not in draft.schemas[name].value:
            yield _Wanted(name, "properties", "")
        return
    path, _, keyword = hit.pointer.removeprefix(f"/{name}").rpartition("/")
    if not path and keyword in ("$defs", "definitions") and fact.kind == "input.forbids":
        tree = SchemaTree(draft.schemas[name].value, "")
        # The definitions go once the references to them are replaced.
        yield from [
            _Wanted(name, "$ref", node.path) for node in tree.holders if isinstance(node.schema.get("$ref"), str)
        ]
        tree.release()
    elif keyword == "$ref" or fact.kind in _OBJECTING.get(keyword, ()):
        yield _Wanted(name, keyword, path)


_OBJECTING = {
    "$schema": ("input.dialect", "output.dialect", "input.forbids"),
    "type": ("input.type_union",),
    "const": ("input.forbids",),
}
"""The kinds of constraint that object to a keyword itself."""
