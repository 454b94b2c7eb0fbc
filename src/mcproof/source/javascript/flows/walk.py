"""The walk over a handler and the functions that it calls: statements, names, and the checks on the way.

A function of the project is walked where it is called, with the values that it gets; a budget bounds that. Why a
function that looks like a check is assumed to be one: docs/decisions/0046-flows-assume-checks.md.
"""

from __future__ import annotations

import re
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import FlowStep
from mcproof.source.flow_marks import EQUALS, LabelMark, checked, common_guards
from mcproof.source.javascript.flows.expressions import compared, evaluate
from mcproof.source.javascript.flows.values import NOTHING, Flow, FunctionRef, either, member, proving, truth
from mcproof.source.javascript.interp.classes import JsClass
from mcproof.source.javascript.interp.functions import JsFunction
from mcproof.source.javascript.interp.members import resolved
from mcproof.source.javascript.syntax import children_of, string_of
from mcproof.source.javascript.values import JsObject, Library

if TYPE_CHECKING:
    from tree_sitter import Node

    from mcproof.source.flow_marks import Guard, Label
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value

MOST_STEPS = 40_000
"""How many statements and expressions are walked for one handler."""
DEEPEST_CALL = 10
MOST_USES = 200
MOST_MEMBERS = 400
_WORD = re.compile(r"[\w$]+")
_CALLED = (JsFunction, Library)
_FUNCTIONS = frozenset(("function_declaration", "generator_function_declaration"))
FUNCTION_NODES = frozenset(("arrow_function", "function_expression", "function", "method_definition", *_FUNCTIONS))


class WalkLimitError(Exception):
    """The budget of a handler is exhausted."""


class Use(NamedTuple):
    """A dangerous use of an input."""

    kind: str
    call: str
    module: Module
    node: Node
    function: str
    label: Label
    mark: LabelMark
    cases: tuple[str, ...]
    """The texts that inputs are equal to where it happens."""


class Exit(NamedTuple):
    """One way in which a function returns."""

    value: Flow
    guards: frozenset[Guard]
    is_optional: bool
    """Whether only the configuration decides that it is taken."""


class Declarations:
    """The declarations of blocks, and the methods of classes, found once for a project."""

    def __init__(self, modules: list[Module], steps_left: int) -> None:
        self.modules = modules
        self.steps_left = steps_left
        """The budget of all handlers together."""
        self.results: dict[int, Flow] = {}
        """What functions return that get no inputs, by the identity of their nodes."""
        self._blocks: dict[int, dict[str, Node]] = {}
        self._parameters: dict[int, frozenset[str]] = {}
        self._methods: dict[str, list[FunctionRef]] | None = None
        self.steps: dict[int, Flow | None] = {}
        """Values of declarations, by the identity of their nodes; None while one is evaluated."""

    def in_block(self, module: Module, block: Node) -> dict[str, Node]:
        """What a block declares, by name."""
        names = self._blocks.get(block.id)
        if names is None:
            names = self._blocks[block.id] = {}
            for statement in children_of(block):
                inner = statement
                if statement.type == "export_statement":
                    inner = statement.child_by_field_name("declaration") or statement
                declared = (
                    children_of(inner) if inner.type.endswith("_declaration") and inner.type[:1] in "lv" else [inner]
                )
                for node in declared:
                    name = node.child_by_field_name("name")
                    if name is not None and name.type in ("identifier", "type_identifier"):
                        names.setdefault(module.source.text(name), node)
        return names

    def parameters(self, module: Module, function: Node) -> frozenset[str]:
        """The words in the parameters of a function, its names among them."""
        names = self._parameters.get(function.id)
        if names is None:
            text = " ".join(module.source.text(parameter) for parameter in parameters_of(function))
            names = self._parameters[function.id] = frozenset(_WORD.findall(text))
        return names

    def method(self, name: str) -> FunctionRef | None:
        """The only method of the project with this name."""
        if self._methods is None:
            self._methods = {}
            for module in self.modules:
                waiting = [module.source.root]
                while waiting:
                    node = waiting.pop()
                    waiting += node.named_children
                    if node.type == "method_definition" and (key := node.child_by_field_name("name")) is not None:
                        ref = FunctionRef(module, node, {})
                        self._methods.setdefault(module.source.text(key), []).append(ref)
        methods = self._methods.get(name, [])
        return methods[0] if len(methods) == 1 else None


class Walk:
    """The walk over one function, in the middle of those that called it."""

    def __init__(
        self, outer: Walk | None, declarations: Declarations, ref: FunctionRef, names: dict[str, Flow]
    ) -> None:
        self.declarations = declarations
        self.module = ref.module
        self.ref = ref
        self.names = names
        self.guards: frozenset[Guard] = outer.guards if outer is not None else frozenset()
        self.uses: list[Use] = outer.uses if outer is not None else []
        self.budget: list[int] = outer.budget if outer is not None else [MOST_STEPS]
        self.depth: int = outer.depth + 1 if outer is not None else 0
        self.exits: list[Exit] = []
        self.breaks: list[tuple[dict[str, Flow], frozenset[Guard]]] = []
        """What holds where the innermost loop or `switch` was left so far."""
        self.plain_conditions = 0
        self.active: tuple[int, ...] = (*(outer.active if outer is not None else ()), ref.node.id)
        name = ref.node.child_by_field_name("name")
        declared = ref.node.parent.child_by_field_name("name") if ref.node.parent is not None else None
        label = name or (declared if ref.node.parent and ref.node.parent.type == "variable_declarator" else None)
        self.function = self.text(label) if label is not None else (self.name_of(outer) if outer else "the handler")

    @staticmethod
    def name_of(outer: Walk) -> str:
        return outer.function

    def text(self, node: Node) -> str:
        return self.module.source.text(node)

    def step(self, node: Node, what: str = "") -> FlowStep:
        text = " ".join((what or self.text(node)[:200]).split())
        source = self.module.source
        return FlowStep(source.file, source.line(node.start_byte), text if len(text) <= 80 else text[:79] + "…")

    def count(self) -> None:
        self.budget[0] -= 1
        if self.budget[0] < 0:
            raise WalkLimitError

    def lookup(self, name: str, node: Node) -> Flow:
        """The value of a name at a node: a local one, or that of a declaration around the function."""
        if name in self.names:
            return self.names[name]
        if name in self.ref.names:
            return self.ref.names[name]
        block = node.parent
        while block is not None:
            if block.type in ("program", "statement_block"):
                declared = self.declarations.in_block(self.module, block).get(name)
                if declared is not None:
                    enclosed = self._enclosed(name) if block.type != "program" else NOTHING
                    return enclosed if enclosed.function is not None else self.declared(declared)
                if block.type == "program":
                    break
            elif block.type in FUNCTION_NODES and name in self.declarations.parameters(self.module, block):
                return self._enclosed(name)
            block = block.parent
        value = self.module.scope.variables.get(name) if name != "require" else None
        if value is None:
            return Flow(name=name)
        flow = from_value(value)
        return self._imported(name) if flow is NOTHING else flow

    def _enclosed(self, name: str) -> Flow:
        """The value of a name of the function around this one, as the interpreter met it when it made this one."""
        scope = self.ref.scope
        while scope is not None and name not in scope.variables:
            scope = scope.parent
        return from_value(scope.variables[name]) if scope is not None else NOTHING

    def _imported(self, name: str) -> Flow:
        """The value of a constant of another module, such as `promisify(exec)`: what it is made of, as in this one."""
        for node in children_of(self.module.source.root):
            source = node.child_by_field_name("source") if node.type == "import_statement" else None
            clause = next((child for child in children_of(node) if child.type == "import_clause"), None)
            if source is None or clause is None or name not in _WORD.findall(self.text(clause)):
                continue
            waiting = [clause]
            while waiting:
                specifier = waiting.pop()
                waiting += specifier.named_children
                if specifier.type == "import_specifier":
                    original, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
                    if original is not None and self.text(alias or original) == name:
                        loaded = self.module.run.modules.load_for(self.module, string_of(self.module.source, source))
                        return self._constant_of(loaded, self.text(original))
        return NOTHING

    def _constant_of(self, module: Module | Value, name: str) -> Flow:
        root = getattr(getattr(module, "source", None), "root", None)
        declared = self.declarations.in_block(module, root).get(name) if root is not None else None
        if declared is None or self.depth >= DEEPEST_CALL:
            return NOTHING
        return Walk(self, self.declarations, FunctionRef(module, declared, {}), {}).declared(declared)

    def declared(self, node: Node) -> Flow:
        """The value of a declaration outside the function that is walked."""
        steps = self.declarations.steps
        if node.id not in steps:
            steps[node.id] = None
            if node.type in FUNCTION_NODES:
                flow = Flow(function=FunctionRef(self.module, node, {}))
            elif (value := node.child_by_field_name("value")) is not None:
                around = Walk(self, self.declarations, FunctionRef(self.module, node, {}), {})
                around.guards = frozenset()
                flow = evaluate(around, value)
            else:
                flow = NOTHING
            steps[node.id] = flow
        return steps[node.id] or NOTHING

    def bind(self, pattern: Node | None, value: Flow) -> None:
        """Assign a value to a pattern."""
        if pattern is None:
            return
        kind = pattern.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            if value.name == "true":  # `isAllowed = true`, after a check
                value = proving(self.guards, name="true")
            self.names[self.text(pattern)] = value
        elif kind in ("required_parameter", "optional_parameter"):
            self.bind(pattern.child_by_field_name("pattern"), value)
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            self.bind(pattern.child_by_field_name("left"), value)
        elif kind == "rest_pattern":
            self.bind(next(iter(children_of(pattern)), None), value)
        elif kind == "object_pattern":
            self._bind_members(pattern, value)
        elif kind == "array_pattern":
            for number, child in enumerate(children_of(pattern)):
                self.bind(child, self.item_at(value, number))
        elif kind == "member_expression":
            holder = pattern.child_by_field_name("object")
            key = pattern.child_by_field_name("property")
            if holder is not None and key is not None and holder.type == "identifier":
                before = self.names.get(self.text(holder), NOTHING)
                self.names[self.text(holder)] = Flow(
                    before.marks, name=before.name, fields={**(before.fields or {}), self.text(key): value}
                )

    def _bind_members(self, pattern: Node, value: Flow) -> None:
        for child in children_of(pattern):
            if child.type == "pair_pattern":
                key = child.child_by_field_name("key")
                name = self.text(key).strip("\"'") if key is not None else ""
                self.bind(child.child_by_field_name("value"), member(value, name))
            elif child.type == "rest_pattern":
                self.bind(child, value)
            else:
                inner = child.child_by_field_name("left") if child.type == "object_assignment_pattern" else child
                if inner is not None:
                    self.bind(inner, member(value, self.text(inner)))

    @staticmethod
    def item_at(value: Flow, number: int) -> Flow:
        if value.elements is not None:
            return value.elements[number] if number < len(value.elements) else NOTHING
        return Flow(value.marks)

    @staticmethod
    def library(value: Any) -> Flow:
        """Something of another package."""
        return from_value(value)

    @staticmethod
    def exports(module: Module) -> Flow:
        """What a module of the project exports."""
        exported = module.value()
        return from_value(exported) if isinstance(exported, JsObject) else NOTHING

    def use(self, kind: str, value: Flow, node: Node, call: str) -> None:
        """Note that a value is used in a dangerous way, unless checks make that safe."""
        for label, mark in value.all_marks().items():
            left = checked(mark, self.guards, label, kind)
            if left is not None and len(self.uses) < MOST_USES:
                cases = tuple(check.removeprefix(EQUALS) for _, check in self.guards if check.startswith(EQUALS))
                self.uses.append(Use(kind, call, self.module, node, self.function, label, left, cases))

    def call(self, ref: FunctionRef, given: list[Flow], node: Node) -> Flow:
        """Call a function of the project: walk it with what it gets."""
        if ref.node.id in self.active or self.depth >= DEEPEST_CALL:
            return NOTHING
        # without inputs it can do no harm, and its result is the same for every call
        has_inputs = any(value.all_marks() for value in (*given, *ref.names.values()))
        if not has_inputs and ref.node.id in self.declarations.results:
            return self.declarations.results[ref.node.id]
        step = self.step(node)
        given = [value.with_marks({label: mark.after(step) for label, mark in value.marks.items()}) for value in given]
        inner = Walk(self, self.declarations, ref, {})
        for number, parameter in enumerate(parameters_of(ref.node)):
            inner.bind(parameter, given[number] if number < len(given) else NOTHING)
        result = inner.run()
        self.guards |= inner.guards
        if not has_inputs:
            self.declarations.results[ref.node.id] = result
        return result

    def run(self) -> Flow:
        """Walk the body; the result, with what its truth proves. Afterwards `guards` are the checks that passed."""
        body = self.ref.node.child_by_field_name("body")
        if body is None:
            return NOTHING
        before = self.guards
        if body.type != "statement_block":
            self.leave(evaluate(self, body))
        elif walk_block(self, children_of(body)):
            self.leave(NOTHING)
        good = [way_out for way_out in self.exits if not _is_error(way_out.value)] or self.exits
        certain = [way_out for way_out in good if not way_out.is_optional] or good
        if not certain:  # it always throws
            self.guards = before
            return NOTHING
        self.guards = reduce(common_guards, [way_out.guards for way_out in certain])
        for way_out in good:
            if way_out.is_optional:  # the operator chose the way without the check
                self.guards |= way_out.guards
        result = reduce(either, [way_out.value for way_out in self.exits])
        flow = result.with_marks(result.marks)
        flow.when_true, flow.when_false = _tests([(way_out.guards - before, way_out.value) for way_out in certain])
        if flow.fields:  # `{ ok: false, reason }` or `{ ok: true }`: what its members prove
            ways = [(way_out.guards - before, way_out.value.fields or {}) for way_out in certain]
            for key in [key for key, value in flow.fields.items() if not value.all_marks()][:8]:
                tests = _tests([(guards, fields.get(key, NOTHING)) for guards, fields in ways])
                flow.fields = {**flow.fields, key: proving(*tests)} if any(tests) else flow.fields
        return flow

    def leave(self, value: Flow) -> None:
        self.exits.append(Exit(value, self.guards, self.plain_conditions > 0))


def _tests(ways: list[tuple[frozenset[Guard], Flow]]) -> tuple[frozenset[Guard], frozenset[Guard]]:
    """What the truth and the falsehood of a value prove, which has one of several values with the checks before it."""
    true = [guards | value.tests()[0] for guards, value in ways if truth(value) is not False]
    false = [guards | value.tests()[1] for guards, value in ways if truth(value) is not True]
    return (
        reduce(common_guards, true) if true else frozenset(),
        reduce(common_guards, false) if false else frozenset(),
    )


def _is_error(value: Flow) -> bool:
    """Whether a result reports a failure: `{ isError: true }`, `{ error: … }`."""
    fields = value.fields or {}
    return "error" in fields or ("isError" in fields and fields["isError"].name == "true")


def parameters_of(node: Node) -> list[Node]:
    """The patterns of the parameters of a function."""
    only = node.child_by_field_name("parameter")
    if only is not None:
        return [only]
    listed = node.child_by_field_name("parameters")
    return [child for child in children_of(listed) if child.type != "this"] if listed is not None else []


def from_value(value: Any) -> Flow:
    """A value of the interpreter."""
    value = resolved(value)
    if isinstance(value, JsFunction):
        return Flow(function=FunctionRef(value.code.module, value.code.node, {}, value.scope))
    if isinstance(value, Library):
        parts = [part.strip("/") for part in value.path if part != "default"]
        return Flow(name=".".join([value.package.removeprefix("node:"), *parts]))
    if isinstance(value, JsClass):
        return Flow(name="class")
    if isinstance(value, str):
        return Flow(text=value[:2000])
    if isinstance(value, JsObject):
        members = {key: resolved(member) for key, member in list(value.members.items())[:MOST_MEMBERS]}
        return Flow(fields={key: from_value(member) for key, member in members.items() if isinstance(member, _CALLED)})
    return NOTHING


def walk_block(walk: Walk, statements: list[Node]) -> bool:
    """Walk statements; whether control reaches the end."""
    for statement in statements:
        walk.count()
        handler = _STATEMENTS.get(statement.type)
        if handler is None:
            if statement.type not in _FUNCTIONS and not statement.type.endswith(
                ("class_declaration", "alias_declaration")
            ):
                evaluate(walk, statement)
        elif not handler(walk, statement):
            return False
    return True


def _body(walk: Walk, node: Node | None) -> bool:
    if node is None:
        return True
    if node.type == "else_clause":
        return _body(walk, next(iter(children_of(node)), None))
    return walk_block(walk, children_of(node) if node.type == "statement_block" else [node])


def _declare(walk: Walk, node: Node) -> bool:
    for declarator in children_of(node):
        value = declarator.child_by_field_name("value")
        if value is not None:
            flow = evaluate(walk, value)
            if flow.marks:
                step = walk.step(declarator)
                flow = flow.with_marks({label: mark.after(step) for label, mark in flow.marks.items()})
            walk.bind(declarator.child_by_field_name("name"), flow)
    return True


def _return(walk: Walk, node: Node) -> bool:
    value = next(iter(children_of(node)), None)
    walk.leave(evaluate(walk, value) if value is not None else NOTHING)
    return False


def _stop(walk: Walk, node: Node) -> bool:
    if node.type == "break_statement":
        walk.breaks.append((walk.names, walk.guards))
    elif node.type == "throw_statement":
        for child in children_of(node):
            evaluate(walk, child)
    return False


def _branches(walk: Walk, ways: list[tuple[frozenset[Guard], Any]], *, is_plain: bool) -> bool:
    """Walk each of several ways, and join the states after those that go on."""
    names, guards = walk.names, walk.guards
    after: list[tuple[dict[str, Flow], frozenset[Guard]]] = []
    walk.plain_conditions += is_plain
    for passed, go in ways:
        walk.names, walk.guards = dict(names), guards | passed
        if go():
            after.append((walk.names, walk.guards))
    walk.plain_conditions -= is_plain
    if not after:
        walk.names, walk.guards = names, guards
        return False
    walk.names = reduce(_joined, [way for way, _ in after])
    checks = [passed for _, passed in after]
    # a check that only the configuration turns off counts
    walk.guards = frozenset().union(*checks) if is_plain else reduce(common_guards, checks)
    return True


def _joined(one: dict[str, Flow], other: dict[str, Flow]) -> dict[str, Flow]:
    names = dict(one)
    for name, value in other.items():
        names[name] = either(names[name], value) if name in names else value
    return names


def _if(walk: Walk, node: Node) -> bool:
    condition = node.child_by_field_name("condition")
    value = evaluate(walk, condition) if condition is not None else NOTHING
    when_true, when_false = value.tests()
    is_plain = not (when_true or when_false) and not value.all_marks() and not _names_input(walk, condition)
    ways = [
        (when_true, lambda: _body(walk, node.child_by_field_name("consequence"))),
        (when_false, lambda: _body(walk, node.child_by_field_name("alternative"))),
    ]
    return _branches(walk, ways, is_plain=is_plain)


def _names_input(walk: Walk, node: Node | None) -> bool:
    """Whether a condition names a value that depends on an input."""
    waiting = [node] if node is not None else []
    while waiting:
        part = waiting.pop()
        if part.type == "identifier" and walk.names.get(walk.text(part), NOTHING).all_marks():
            return True
        waiting += part.named_children
    return False


def _loop(walk: Walk, node: Node) -> bool:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    condition = node.child_by_field_name("condition")
    for part in (node.child_by_field_name("initializer"), condition if condition is not None else None):
        if part is not None:
            walk_block(walk, [part])
    if left is not None and right is not None:
        many = evaluate(walk, right)
        value = reduce(either, many.elements) if many.elements else Flow(many.all_marks())
        walk.bind(left, value)
    before, outer, walk.breaks = (walk.names, walk.guards), walk.breaks, []
    walk.names = dict(walk.names)
    reaches = _body(walk, node.child_by_field_name("body"))
    walk.guards = walk.guards if reaches else before[1]  # a check of each element is one of all
    walk.names = reduce(_joined, [before[0], walk.names, *(names for names, _ in walk.breaks)])
    walk.guards = reduce(common_guards, [walk.guards, *(guards for _, guards in walk.breaks)])
    walk.breaks = outer
    return True


def _try(walk: Walk, node: Node) -> bool:
    names, guards = dict(walk.names), walk.guards
    after = []
    if _body(walk, node.child_by_field_name("body")):
        after.append((walk.names, walk.guards))
    handler = node.child_by_field_name("handler")
    if handler is not None:
        walk.names, walk.guards = _joined(names, walk.names), guards
        if _body(walk, handler.child_by_field_name("body")):
            after.append((walk.names, walk.guards))
    if after:
        walk.names = reduce(_joined, [way for way, _ in after])
        walk.guards = reduce(common_guards, [checks for _, checks in after])
    last = node.child_by_field_name("finalizer")
    goes_on = _body(walk, next(iter(children_of(last)), None)) if last is not None else True
    return goes_on and bool(after)


def _switch(walk: Walk, node: Node) -> bool:
    value_node, body = node.child_by_field_name("value"), node.child_by_field_name("body")
    subject = evaluate(walk, value_node) if value_node is not None else NOTHING
    ways: list[tuple[frozenset[Guard], Any]] = []
    has_default = False
    passed: frozenset[Guard] = frozenset()
    for case in children_of(body) if body is not None else ():
        value = case.child_by_field_name("value")
        if value is not None:
            passed |= compared(subject, evaluate(walk, value), "==").when_true
        has_default = has_default or case.type == "switch_default"
        statements = [child for child in children_of(case) if value is None or child.id != value.id]
        if statements:  # one without any goes on with the next
            ways.append((passed, partial(_case, walk, statements)))
            passed = frozenset()
    if not has_default:
        ways.append((frozenset(), lambda: True))
    return _branches(walk, ways, is_plain=False)


def _case(walk: Walk, statements: list[Node]) -> bool:
    outer, walk.breaks = walk.breaks, []
    reaches = walk_block(walk, statements)
    reached = [*walk.breaks, *([(walk.names, walk.guards)] if reaches else [])]
    walk.breaks = outer
    if reached:
        walk.names = reduce(_joined, [names for names, _ in reached])
        walk.guards = reduce(common_guards, [guards for _, guards in reached])
    return bool(reached)


_STATEMENTS: dict[str, Any] = {
    **dict.fromkeys(("lexical_declaration", "variable_declaration"), _declare),
    "return_statement": _return,
    **dict.fromkeys(("throw_statement", "break_statement", "continue_statement"), _stop),
    "if_statement": _if,
    **dict.fromkeys(("for_statement", "for_in_statement", "while_statement", "do_statement"), _loop),
    "try_statement": _try,
    "switch_statement": _switch,
    "statement_block": _body,
    "expression_statement": lambda walk, node: all(evaluate(walk, child) is not None for child in children_of(node)),
}
