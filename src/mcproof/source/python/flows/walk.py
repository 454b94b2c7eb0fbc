"""The walk over one function: its state, its statements, its uses of labelled values, and how it ends."""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import DELETE, PATH, SQL, WRITE, FlowStep
from mcproof.source.flow_marks import (
    DIFFERS,
    EQUALS,
    LabelMark,
    changed,
    checked,
    common_guards,
    switched,
    weakened,
)
from mcproof.source.python.flows.expressions import element_of, evaluate, switch_of
from mcproof.source.python.flows.sinks import compared, tests_of, with_tests
from mcproof.source.python.flows.tables import ADDRESSES
from mcproof.source.python.flows.values import (
    MOST_FIELDS,
    NOTHING,
    OUTER,
    CodePlace,
    FlowState,
    FlowValue,
    constant,
    described,
    joined,
    symbolic,
)
from mcproof.source.python.interp.values import MISSING, UNKNOWN, Function, last_name

if TYPE_CHECKING:
    from mcproof.source.flow_marks import Guard, Label, Marks
    from mcproof.source.python.flows.engine import FlowEngine


class FlowUse(NamedTuple):
    """A dangerous use of a label."""

    kind: str
    call: str
    """The call, as the source names it."""
    place: CodePlace
    label: Label
    mark: LabelMark
    cases: frozenset[Guard]
    """The texts that other labels are equal to, or differ from, where it happens."""
    is_prefix: bool = False
    """Whether it is the only check of a path, and compares the start of its text."""


NO_CASES: frozenset[Guard] = frozenset()
Switches = tuple[str, str]


class Exit(NamedTuple):
    """One way in which a function returns."""

    value: FlowValue
    state: FlowState
    is_optional: bool
    """Whether only the configuration decides that it is taken."""
    switches: Switches = ("", "")
    """What switches off the checks of the other exits, and its own."""


class FunctionWalk:
    """The walk over one function."""

    def __init__(self, engine: FlowEngine, function: Function, names: dict[str, FlowValue]) -> None:
        self.engine = engine
        self.function = function
        self.module = function.module
        self.state = FlowState(names)
        self.uses: list[FlowUse] = []
        self.exits: list[Exit] = []
        self.has_ended = False
        """Whether a function was called that never returns."""
        self.labelled_conditions = 0
        """How many of the conditions that apply depend on a label."""
        self.switches: list[Switches] = []
        """For each other condition that applies, what switches off the checks elsewhere, and those below it."""
        self.unparsed = 0
        """How many handlers apply of an error that a host is no numeric address."""
        self.outer = engine.closures.get(id(function.node), {})
        """The names of the function around it, if that was walked."""
        self.borrowed: dict[str, FlowValue] = {}

    def step(self, node: ast.AST, what: str) -> FlowStep:
        return FlowStep(self.module.file, getattr(node, "lineno", 0), what)

    def lookup(self, name: str) -> FlowValue:
        """The value of a name."""
        local = self.state.names.get(name)
        if local is not None:
            return local
        if name in self.borrowed:
            return self.borrowed[name]
        if name in self.outer:
            self.borrowed[name], _ = symbolic(self.outer[name], (OUTER + name,))
            return self.borrowed[name]
        value = self.engine.lookup(name, self.function.scope)
        return constant(value) if value is not UNKNOWN and value is not MISSING else NOTHING

    def outer_names(self) -> dict[str, FlowValue]:
        """The names of the functions around it, as it sees them."""
        return {name: self.lookup(name) for name in self.outer}

    def own_object(self) -> FlowValue:
        """The object that a method belongs to."""
        spec = self.function.node.args
        first = next(iter((*spec.posonlyargs, *spec.args)), None)
        return self.lookup(first.arg) if first is not None else NOTHING

    def has_marks(self, node: ast.expr) -> bool:
        """Whether a condition names a value that depends on a parameter."""
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        return any((value := self.state.names.get(name)) is not None and value.all_marks() for name in names)

    def use(self, kind: str, value: FlowValue, node: ast.AST, call: str) -> None:
        """Note that a value is used in a dangerous way, unless checks make that safe."""
        marks = decisive(kind, value.all_marks())
        if not marks:
            return
        place = CodePlace(self.module, node, self.function.name)
        for label, mark in marks.items():
            self.note(FlowUse(kind, call, place, label, mark, NO_CASES))

    def note(self, use: FlowUse) -> None:
        """Keep a use, unless the checks that have passed make it safe."""
        guards = self.state.guards
        # what a tool does, it also does after a check
        left = use.mark if use.kind in (WRITE, DELETE) else checked(use.mark, guards, use.label, use.kind)
        if left is None:
            return
        cases = use.cases.union(guard for guard in guards if guard[1][:1] in (EQUALS, DIFFERS))
        use = use._replace(mark=left, cases=cases)
        check = self.engine.prefix_check(guards, use) if use.kind == PATH and not use.is_prefix else None
        if check is not None:
            use = use._replace(call="startswith", place=check, is_prefix=True)
        self.engine.add_use(self.uses, use)

    def leave(self, value: FlowValue) -> None:
        """Note that the function may return here."""
        # such a `return` skips checks that follow, but only as the operator of the server configured it
        is_setting = bool(self.switches) and not self.labelled_conditions
        switches = self.switches[-1] if is_setting and not self.unparsed else ("", "")
        self.exits.append(Exit(value, self.state.copy(), is_setting or bool(self.unparsed), switches))

    def end(self) -> tuple[FlowState, list[Exit]]:
        """The state after the function, and its exits without an error."""
        # the caller sees an error and stops, so checks before it need not hold for what follows
        good = [way_out for way_out in self.exits if not is_error(way_out.value)] or self.exits
        certain = [way_out for way_out in good if not way_out.is_optional] or good
        state = joined([way_out.state for way_out in certain])
        others = [way_out for way_out in good if way_out not in certain]
        optional = joined([way_out.state for way_out in others])
        if state is None or optional is None:
            return state if state is not None else self.state, [way_out._replace(is_optional=False) for way_out in good]
        # the operator chose the way without the check: `if root: return contained(root, path)`, then `return path`
        own = next((way_out.switches[1] for way_out in others if way_out.switches[1]), "")
        guards = switched(optional.guards - common_guards(state.guards, optional.guards), own)
        kept = state.guards
        returns_values = any(way_out.value.base is not None for way_out in certain)
        for way_out in others:
            if way_out.value.base is not None or not returns_values:  # else None stands for a failure
                kept = weakened(kept, way_out.state.guards, way_out.switches[0])
        return FlowState(state.names, kept | guards), [*certain, *others]

    def bind(self, target: ast.AST, value: FlowValue) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            self.state.names[target.id] = value
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for index, element in enumerate(target.elts):
                self.bind(element, part_of(value, index))
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            self._bind_part(target, value)

    def _bind_part(self, target: ast.Attribute | ast.Subscript, value: FlowValue) -> None:
        """`holder.key = value` and `holder["key"] = value`, for a holder with a name."""
        holder = target.value
        if not isinstance(holder, ast.Name):
            return
        if isinstance(target, ast.Attribute):
            key = target.attr
        elif isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            key = target.slice.value
        else:
            key = ""
        before = self.lookup(holder.id)
        if key and len(before.fields or ()) < MOST_FIELDS:
            fields = {**(before.fields or {}), key: value}
            self.state.names[holder.id] = FlowValue(
                before.base, before.marks, fields=fields, elements=before.elements, text=before.text
            )
        elif value.all_marks():
            self.state.names[holder.id] = before.with_marks({**before.marks, **value.all_marks()})


def is_abstract(node: ast.AST) -> bool:
    """Whether a function only raises `NotImplementedError`, so that another one takes its place."""
    body = getattr(node, "body", None)
    last = body[-1] if isinstance(body, list) and body else None
    return isinstance(last, ast.Raise) and last.exc is not None and "NotImplemented" in ast.unparse(last.exc)


def decisive(kind: str, marks: Marks) -> Marks:
    """The marks that matter for a use: a value inside a statement that is the caller's own adds nothing."""
    if kind == SQL and len(marks) > 1 and any(mark.head for mark in marks.values()):
        return {label: mark for label, mark in marks.items() if mark.head}
    return marks


def is_error(value: FlowValue) -> bool:
    """Whether a returned value reports a failure: `{"error": …}`, `{"success": False}`, `"Error: …"`."""
    if value.fields:
        failed = any(key in value.fields and value.fields[key].base is False for key in ("success", "ok"))
        return failed or "error" in value.fields
    return value.text is not None and value.text.lower().startswith("error")


def part_of(value: FlowValue, index: int) -> FlowValue:
    """One of several values that are unpacked."""
    if value.elements is not None and index < len(value.elements):
        return value.elements[index]
    if value.elements is not None and value.elements and value.elements[-1].is_open:
        return value.elements[-1]
    return FlowValue(UNKNOWN, value.marks)


ADDRESS_NAMES = frozenset(name.rpartition(".")[2] for name in ADDRESSES)
VALUES_PER_STEP = 32
"""How many copied values count as one step."""


def walk_function(walk: FunctionWalk) -> None:
    """Walk the body of a function."""
    node = walk.function.node
    if isinstance(node, ast.Lambda):
        walk.leave(evaluate(walk, node.body))
        return
    if walk_block(walk, node.body):
        walk.leave(constant(None))


def walk_block(walk: FunctionWalk, body: list[ast.stmt]) -> bool:
    """Walk statements; whether control reaches the end."""
    for statement in body:
        walk.engine.count()
        handler = _HANDLERS.get(type(statement))
        if handler is not None and not handler(walk, statement):
            return False
        if walk.has_ended:
            walk.has_ended = False
            if isinstance(statement, (ast.Expr, ast.Assign)):
                return False
    return True


def _expression(walk: FunctionWalk, node: ast.Expr) -> bool:
    evaluate(walk, node.value)
    return True


def _assign(walk: FunctionWalk, node: ast.Assign) -> bool:
    value = _noted(walk, evaluate(walk, node.value), node)
    for target in node.targets:
        walk.bind(target, value)
    return True


def _annotated(walk: FunctionWalk, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        value = evaluate(walk, node.value)
        if value.base is UNKNOWN and not value.marks:
            typed = walk.engine.value_of_type(walk.engine.type_of(node.annotation, walk.function.scope))
            value = typed if typed is not NOTHING else value
        walk.bind(node.target, _noted(walk, value, node))
    return True


def _augmented(walk: FunctionWalk, node: ast.AugAssign) -> bool:
    # evaluated as `target + value`, which gives the target the labels of both
    combined = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
    walk.bind(node.target, _noted(walk, evaluate(walk, combined), node))
    return True


def _noted(walk: FunctionWalk, value: FlowValue, node: ast.AST) -> FlowValue:
    """A value with its assignment as a step of its trail."""
    if not value.marks:
        return value
    step = walk.step(node, described(node))
    return value.with_marks(changed(value.marks, lambda mark: mark.after(step)))


def _return(walk: FunctionWalk, node: ast.Return) -> bool:
    walk.leave(evaluate(walk, node.value) if node.value is not None else constant(None))
    return False


def _stops(walk: FunctionWalk, node: ast.Raise | ast.Break | ast.Continue) -> bool:
    if isinstance(node, ast.Raise) and node.exc is not None:
        evaluate(walk, node.exc)
    return False


def _if(walk: FunctionWalk, node: ast.If) -> bool:
    when_true, when_false = tests_of(evaluate(walk, node.test))
    is_labelled = bool(when_true or when_false) or walk.has_marks(node.test)
    before = walk.state
    after: list[FlowState] = []
    required: list[Guard] = []
    walk.labelled_conditions += is_labelled
    switches = [""] * 2 if is_labelled else [switch_of(walk, node.test, happens=way) for way in (True, False)]
    kept: list[Guard] = []
    for own, body in zip(switches, (node.body, node.orelse), strict=True):
        guards, opposite = (when_true, when_false) if body is node.body else (when_false, when_true)
        walk.state = _branch(walk, before, guards)
        if not is_labelled:
            walk.switches.append((switches[body is node.body], own))
        if walk_block(walk, body):
            after.append(walk.state)
            kept += () if is_labelled else switched(walk.state.guards - before.guards, own)
        else:
            required += [guard for guard in opposite if guard[1] in walk.engine.prefix_checks]
        if not is_labelled:
            walk.switches.pop()
    walk.labelled_conditions -= is_labelled
    goes_on = _continue_with(walk, before, after)
    if goes_on:  # a check on one way, if the other is that of a server that is configured without it
        walk.state = walk.state.passed(frozenset(kept))
    for label, kind in required:  # the path may be used where the source does not show it
        place = walk.engine.prefix_checks[kind]
        walk.note(FlowUse(PATH, "startswith", place, label, LabelMark(), NO_CASES, is_prefix=True))
    return goes_on


def _branch(walk: FunctionWalk, state: FlowState, guards: frozenset[Guard]) -> FlowState:
    """The state at the start of a branch."""
    walk.engine.count((len(state.names) + len(state.guards)) // VALUES_PER_STEP)
    return state.passed(guards)


def _continue_with(
    walk: FunctionWalk, before: FlowState, after: list[FlowState], *, keeps_guards: bool = False
) -> bool:
    state = joined(after, keeps_guards=keeps_guards)
    walk.state = before if state is None else state
    return state is not None


def _for(walk: FunctionWalk, node: ast.For | ast.AsyncFor) -> bool:
    many = evaluate(walk, node.iter)
    before = walk.state.copy()
    walk.bind(node.target, element_of(many))
    if walk_block(walk, node.body):
        after = walk.state
        walk.state = joined([before, after]) or before
        walk.state.guards = before.guards | after.guards  # a check of each element is one of all
    else:
        walk.state = joined([before, FlowState(walk.state.names, before.guards)]) or before
    walk_block(walk, node.orelse)
    return True


def _while(walk: FunctionWalk, node: ast.While) -> bool:
    test = evaluate(walk, node.test)
    before = walk.state
    walk.state = _branch(walk, before, test.when_true)
    after = [before.passed(test.when_false)]
    if walk_block(walk, node.body):
        after.append(walk.state)
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    return _continue_with(walk, before, after[1:] if endless and len(after) > 1 else after)


def _with(walk: FunctionWalk, node: ast.With | ast.AsyncWith) -> bool:
    for item in node.items:
        value = evaluate(walk, item.context_expr)
        if item.optional_vars is not None:
            walk.bind(item.optional_vars, value)
    return walk_block(walk, node.body)


def _try(walk: FunctionWalk, node: ast.Try) -> bool:
    before = walk.state.copy()
    after: list[FlowState] = []
    reaches = walk_block(walk, node.body) and walk_block(walk, node.orelse)
    if reaches:
        after.append(walk.state)
    # a name is no numeric address: what is decided about addresses is assumed to hold for what the name leads to
    called = {last_name(part.func) for part in ast.walk(ast.Module(node.body, [])) if isinstance(part, ast.Call)}
    is_parsing = not called.isdisjoint(ADDRESS_NAMES)
    walk.unparsed += is_parsing
    for handler in node.handlers:
        names = joined([before, walk.state]) or before
        walk.state = FlowState(dict(names.names), before.guards)
        if walk_block(walk, handler.body):
            after.append(walk.state)
    walk.unparsed -= is_parsing
    goes_on = _continue_with(walk, before, after, keeps_guards=is_parsing)
    return walk_block(walk, node.finalbody) and goes_on


def _match(walk: FunctionWalk, node: ast.Match) -> bool:
    subject = evaluate(walk, node.subject)
    before = walk.state
    after: list[FlowState] = []
    for case in node.cases:
        guards = _matched(walk, subject, case.pattern)
        walk.state = _branch(walk, before, guards)
        for part in ast.walk(case.pattern):
            name = part.name if isinstance(part, (ast.MatchAs, ast.MatchStar)) else None
            if name is not None:
                walk.state.names[name] = FlowValue(UNKNOWN, subject.marks)
        if walk_block(walk, case.body):
            after.append(walk.state)
    if not any(isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None for case in node.cases):
        after.append(before)
    return _continue_with(walk, before, after)


def _matched(walk: FunctionWalk, subject: FlowValue, pattern: ast.pattern) -> frozenset[Guard]:
    """What a matching pattern proves of the subject."""
    if isinstance(pattern, ast.MatchValue):
        return compared(subject, ast.Eq(), evaluate(walk, pattern.value)).when_true
    if isinstance(pattern, ast.MatchOr):
        alternatives = [_matched(walk, subject, alternative) for alternative in pattern.patterns]
        return frozenset.intersection(*alternatives) if alternatives else frozenset()
    return frozenset()


def _assert(walk: FunctionWalk, node: ast.Assert) -> bool:
    walk.state = walk.state.passed(evaluate(walk, node.test).when_true)
    return True


def _define(walk: FunctionWalk, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    function = Function(node, walk.function.scope, [], [])
    walk.engine.closures[id(node)] = {**walk.outer_names(), **walk.state.names}
    walk.state.names[node.name] = constant(function)
    return True


def _import(walk: FunctionWalk, node: ast.Import | ast.ImportFrom) -> bool:
    walk.state.names.update((name, constant(value)) for name, value in walk.engine.imported(node, walk.function.scope))
    return True


def _delete(walk: FunctionWalk, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            walk.state.names.pop(target.id, None)
    return True


_HANDLERS: dict[Any, Any] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    **dict.fromkeys((ast.Raise, ast.Break, ast.Continue), _stops),
    ast.If: _if,
    **dict.fromkeys((ast.For, ast.AsyncFor), _for),
    ast.While: _while,
    **dict.fromkeys((ast.With, ast.AsyncWith), _with),
    **dict.fromkeys((ast.Try, ast.TryStar), _try),
    ast.Match: _match,
    ast.Assert: _assert,
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), _define),
    ast.Delete: _delete,
    **dict.fromkeys((ast.Import, ast.ImportFrom), _import),
}


def with_exit_tests(result: FlowValue, exits: list[Exit]) -> FlowValue:
    """A result with what its truth proves: the checks on every way to return a value that may be true, or false."""
    ways = [
        (way_out.value, way_out.state.guards, way_out.switches[0] if way_out.is_optional else None) for way_out in exits
    ]
    return _tested(result, ways, 0)


_Way = tuple[FlowValue, "frozenset[Guard]", "str | None"]
"""A returned value, the checks before it, and what switches off the other checks; None if no setting chooses it."""


def _tested(result: FlowValue, values: list[_Way], depth: int) -> FlowValue:
    true, false = [], []
    for value, guards, switch in values:
        truth: bool | None = None
        if value.elements is not None:
            truth = bool(value.elements)
        elif value.base is None or isinstance(value.base, (bool, str, int)) or value.text:
            truth = bool(value.base or value.text)
        if truth is not False:
            true.append((guards | value.when_true, switch))
        if truth is not True:
            false.append((guards | value.when_false, switch))
    tested = with_tests(result, _on_every_way(true), _on_every_way(false))
    if depth == 0 and result.elements and all(value.elements for value, _, switch in values if switch is None):
        lists = [(value.elements or [], guards, switch) for value, guards, switch in values]
        tested.elements = [
            _tested(part, [(parts[index], its, switch) for parts, its, switch in lists if index < len(parts)], 1)
            for index, part in enumerate(result.elements[:4])
        ] + result.elements[4:]
    return tested


def _on_every_way(ways: list[tuple[frozenset[Guard], str | None]]) -> frozenset[Guard]:
    """The checks of all ways that no setting chooses; a way that one chooses makes the checks depend on it."""
    certain = [guards for guards, switch in ways if switch is None]
    guards = reduce(common_guards, certain) if certain else frozenset()
    for others, switch in ways:
        guards = weakened(guards, others, switch) if switch else guards
    return guards
