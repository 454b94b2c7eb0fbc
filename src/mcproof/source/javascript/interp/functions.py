"""Functions: their code, what they are called with, and what a call comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp.interpreter import (
    DEEPEST_CALL,
    BudgetExceededError,
    Completion,
    Context,
    Frame,
    JsThrowError,
    Scope,
    either,
    over_options,
)
from mcproof.source.javascript.syntax import children_of, unescaped
from mcproof.source.javascript.values import (
    UNDEFINED,
    Accessor,
    JsArray,
    JsObject,
    JsPromise,
    Library,
    Unknown,
    may_lack,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from mcproof.source.javascript.interp.interpreter import Execute, Interpreter
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value

DEEPEST_DOUBT = 8
"""How often a function may call itself where nothing shows that this ends: each level may double the work."""
YIELDED = "*"
"""The variable of a generator with the array of what it yields; no name of a program is like it."""


def escape_text(escape: str) -> str:
    """The text of an escape sequence; a half of a character stays one until both are joined."""
    return unescaped(escape)


def whole_text(text: str) -> str:
    """A text in which the halves of characters are joined."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class FunctionCode:
    """A function or a method as it is written; compiled at the first call."""

    __slots__ = (
        "_bind",
        "_body",
        "accessor",
        "active",
        "is_arrow",
        "is_async",
        "is_generator",
        "is_static",
        "library",
        "module",
        "name",
        "node",
        "registers",
    )

    def __init__(self, module: Module, node: Node) -> None:
        self.module = module
        self.node = node
        self.is_arrow = node.type == "arrow_function"
        self.is_async = self.is_generator = self.is_static = False
        self.accessor = ""
        for child in node.children:
            kind = child.type
            if kind == "async":
                self.is_async = True
            elif kind == "*":
                self.is_generator = True
            elif kind == "static":
                self.is_static = True
            elif kind in ("get", "set") and not child.is_named:
                self.accessor = kind
            elif kind in ("formal_parameters", "statement_block", "=>"):
                break
        name = node.child_by_field_name("name")
        self.name = module.source.text(name)
        self.active = 0
        """How many calls of it are being followed."""
        self.registers = module.registers_in(node.start_byte, node.end_byte)
        self.library: Value = UNDEFINED
        """What of a known package it is, if a bundle holds it; UNDEFINED before anybody looks."""
        self._body: Execute | None = None
        self._bind: Callable[[Scope, Sequence[Value]], None] | None = None

    def text(self) -> str:
        return self.module.source.text(self.node)

    def start_of_text(self) -> bytes:
        return self.module.source.data[self.node.start_byte : min(self.node.end_byte, self.node.start_byte + 200)]

    @property
    def is_called(self) -> bool:
        return self._body is not None

    def compiled(self) -> tuple[Execute, Callable[[Scope, Sequence[Value]], None]]:
        """The body and what binds the parameters."""
        if self._body is None or self._bind is None:
            self._bind = _compile_parameters(self.module, self.node)
            self._body = _compile_body(self.module, self.node)
        return self._body, self._bind


def _compile_body(module: Module, node: Node) -> Execute:
    from mcproof.source.javascript.interp.expressions import compile_expression
    from mcproof.source.javascript.interp.statements import compile_block

    body = node.child_by_field_name("body")
    if body is None:
        return lambda scope: None
    if body.type == "statement_block":
        return compile_block(module, children_of(body), own_scope=False)
    value = compile_expression(module, body)
    return lambda scope: Completion("return", value(scope))


def _compile_parameters(module: Module, node: Node) -> Callable[[Scope, Sequence[Value]], None]:
    from mcproof.source.javascript.interp import patterns
    from mcproof.source.javascript.interp.expressions import compile_expression

    only = node.child_by_field_name("parameter")
    if only is not None:
        name = module.source.text(only)

        def bind_one(scope: Scope, given: Sequence[Value]) -> None:
            scope.variables[name] = given[0] if given else UNDEFINED

        return bind_one
    parameters = node.child_by_field_name("parameters")
    binds: list[tuple[Any, Any, str]] = []
    rest: Any = None
    for child in children_of(parameters) if parameters is not None else ():
        pattern, default, member = child, None, ""
        if child.type in ("required_parameter", "optional_parameter"):
            inner = child.child_by_field_name("pattern")
            if inner is None or inner.type == "this":
                continue
            pattern = inner
            value = child.child_by_field_name("value")
            default = compile_expression(module, value) if value is not None else None
            if any(part.type in ("accessibility_modifier", "readonly") for part in child.children):
                member = module.source.text(pattern)  # `constructor(private key: string)` also sets `this.key`
        if pattern.type == "rest_pattern":
            rest = patterns.compile_declaration(module, children_of(pattern)[0])
            continue
        binds.append((patterns.compile_declaration(module, pattern), default, member))

    def bind(scope: Scope, given: Sequence[Value]) -> None:
        for number, (bind_one, default, member) in enumerate(binds):
            value = given[number] if number < len(given) else UNDEFINED
            if default is not None:
                value = patterns.with_default(value, scope, default)
            bind_one(scope, value)
            if member and scope.frame is not None and isinstance(scope.frame.this, JsObject):
                this = scope.frame.this
                module.run.write(this.members, member, value, this.birth)
        if rest is not None:
            rest(scope, JsArray(list(given[len(binds) :])))

    return bind


class JsFunction(JsObject):
    """A function of the source, with the scope that it is defined in."""

    __slots__ = ("arguments", "bound_this", "code", "home", "name", "scope")
    is_callable = True

    def __init__(self, code: FunctionCode, scope: Scope, name: str, home: JsObject | None = None) -> None:
        super().__init__({})
        self.code = code
        self.scope = scope
        self.name = name or code.name
        self.home = home
        self.bound_this: Value = None
        self.arguments: tuple[Value, ...] = ()
        if code.registers:
            code.module.run.registering.append(self)

    def bound(self, this: Value, arguments: Sequence[Value]) -> JsFunction:
        """What `bind` makes of it."""
        copy = JsFunction(self.code, self.scope, self.name, self.home)
        copy.members = self.members
        copy.bound_this = (this,) if self.bound_this is None else self.bound_this
        copy.arguments = (*self.arguments, *arguments)
        return copy

    def prototype(self) -> JsObject:
        """The object whose members its instances inherit."""
        prototype = self.members.get("prototype")
        if not isinstance(prototype, JsObject):
            prototype = self.members["prototype"] = JsObject({})
        return prototype


class NativeFunction(JsObject):
    """A function of the language itself, or of a package that is known."""

    __slots__ = ("name", "use")
    is_callable = True

    def __init__(self, name: str, use: Callable[[Value, list[Value]], Value]) -> None:
        super().__init__({})
        self.name = name
        self.use = use
        """Takes `this` and the arguments."""


def name_function(value: Value, name: str) -> None:
    """Give a function or a class without a name that of the variable or member that it is assigned to."""
    if name and isinstance(value, JsFunction) and not value.name:
        value.name = name


def call_function(
    run: Interpreter,
    function: JsFunction,
    this: Value,
    given: Sequence[Value],
    target: Value = UNDEFINED,
    *,
    awaits: bool = False,
) -> Value:
    """Call a function of the source; with `awaits`, a generator that stands for an async function."""
    run.charge(4)
    code = function.code
    # Under an unknown condition a recursion is followed on both ways, so that it would never end by itself.
    if run.depth >= DEEPEST_CALL or (code.active >= DEEPEST_DOUBT and run.is_in_branch):
        return Unknown("calls are nested too deep to follow")
    if function.bound_this is not None:
        this = function.bound_this[0] if target is UNDEFINED else this
        given = (*function.arguments, *given)
    scope = Scope(function.scope, is_function=True)
    if not code.is_arrow:
        scope.frame = Frame(this, function.home, target, tuple(given))
    if code.is_generator:
        scope.variables[YIELDED] = UNDEFINED if awaits else JsArray([])
    # What registers items may use the steps that are left, other calls only those of their module: one of them must not
    # cost the catalog.
    is_central = code.registers or run.depth == 0
    entered, outer = run.enter(None if is_central else code.module.steps_of_call), run.context
    context = run.context = Context("call", outer)
    is_over = False
    result: Value = UNDEFINED
    run.depth += 1
    code.active += 1
    try:
        body, bind = code.compiled()
        bind(scope, given)
        completion = body(scope)
        if completion is not None and completion.kind == "throw":
            raise JsThrowError(completion.value)
        result = completion.value if completion is not None and completion.kind == "return" else UNDEFINED
        if context.returned:
            result = _one_of(context.returned, result)
        if code.is_generator and not awaits:
            result = scope.variables[YIELDED]
    except BudgetExceededError:
        is_over = True
        result = Unknown("a call takes too long to follow")
    except RecursionError:
        return Unknown("calls are nested too deep to follow")
    except JsThrowError:
        # where it may have returned before, what is served comes after a call that did
        if not context.returned and not code.is_async:
            raise
        result = _one_of(context.returned[:-1], context.returned[-1][0]) if context.returned else Unknown("it throws")
    finally:
        run.context = outer
        run.depth -= 1
        code.active -= 1
        can_go_on = run.leave(entered, is_central=is_central)
    if is_over:
        if not can_go_on:
            raise BudgetExceededError
        return result
    if code.is_async or awaits:
        return result if isinstance(result, JsPromise) else JsPromise(result)
    return result


def _one_of(returned: list[tuple[Value, bool | None]], last: Value) -> Value:
    """What a call returns that may have ended early: by default at the first place that it does so by default."""
    values = [value for value, _ in returned]
    reason = "which value is returned is not settled"
    for number, (value, is_default) in enumerate([*returned, (last, True)]):
        if is_default is None:
            break
        if is_default:
            return either([value, *values[:number], *values[number + 1 :], last], reason, is_default=True)
    return either([last, *values], reason)


def add_accessor(members: dict[str, Value], name: str, kind: str, function: JsFunction) -> None:
    """Add a getter or a setter."""
    accessor = members.get(name)
    get, set_ = accessor if isinstance(accessor, Accessor) else (UNDEFINED, UNDEFINED)
    members[name] = Accessor(function, set_) if kind == "get" else Accessor(get, function)


def super_member(run: Interpreter, scope: Scope, name: str) -> Value:
    """The value of `super.name`."""
    from mcproof.source.javascript.interp.members import member_from

    frame = scope.frame
    if frame is None or frame.home is None:
        return Unknown("`super` is not known here")
    if frame.home.proto is None:
        native = getattr(frame.this, "native", None)
        return run.host.member(native, name) if native is not None else UNDEFINED
    return member_from(run, frame.home.proto, name, frame.this)


def call_super_method(
    run: Interpreter, scope: Scope, name: str, given: list[Value], place: tuple[Module, Node]
) -> Value:
    from mcproof.source.javascript.interp.members import call_value

    frame = scope.frame
    function = super_member(run, scope, name)
    native = getattr(frame.this, "native", None) if frame is not None else None
    if function is UNDEFINED and native is not None and run.host.is_native(native):
        return run.host.method(native, name, given, place)
    return call_value(run, function, frame.this if frame is not None else UNDEFINED, given, place)


def call_super(run: Interpreter, scope: Scope, given: list[Value], place: tuple[Module, Node]) -> Value:
    """The constructor of the base class, on the same object."""
    from mcproof.source.javascript.interp.classes import JsClass, initialize

    frame = scope.frame
    if frame is None or frame.home is None:
        return Unknown("`super` is not known here")
    owner = frame.home.members.get("constructor")
    if isinstance(owner, JsClass) and isinstance(frame.this, JsObject):
        initialize(run, owner.base, frame.this, given, frame.target, place)
        owner.add_fields(run, frame.this)
    return frame.this


def has_member(name: Value, target: Value) -> Value:
    """The operator `in`."""
    from mcproof.source.javascript.interp.members import property_key

    if isinstance(target, Unknown):
        return over_options(target, lambda option: has_member(name, option))
    key = property_key(name)
    if isinstance(key, Unknown) or isinstance(target, Library):
        return Unknown("whether a member exists is not known")
    if isinstance(target, JsObject):
        at: JsObject | None = target
        while at is not None:
            if key in at.members:
                return True if not may_lack(at.members[key]) else Unknown("whether a member exists is not known")
            if at.is_open or at.native is not None:
                reason = "whether a member exists is not known"
                return Unknown(reason, (False,), is_default=True) if at.is_closed_by_default else Unknown(reason)
            at = at.proto
        return False
    if isinstance(target, JsArray):
        return key.isdigit() and int(key) < len(target.items)
    return False


def is_instance(run: Interpreter, value: Value, target: Value) -> Value:
    """The operator `instanceof`."""
    if isinstance(value, Unknown) and value.options:
        return over_options(value, lambda option: is_instance(run, option, target))
    if isinstance(value, JsArray) and isinstance(target, NativeFunction):
        return target.name in ("Array", "Object")
    if isinstance(value, JsObject) and isinstance(target, JsFunction):
        prototype = target.prototype()
        at = value.proto
        while at is not None:
            if at is prototype:
                return True
            at = at.proto
        return False
    if isinstance(value, JsObject) and isinstance(target, NativeFunction):
        if target.name.endswith("Error"):
            return value.native == "error"
        kind = getattr(value.native, "kind", None)
        return target.name in (kind, "Object")
    if value is None or value is UNDEFINED or isinstance(value, (str, int, float)):
        return False
    return run.host.is_instance(value, target)


def once(compute: Callable[[], Value]) -> Callable[[], Value]:
    """A computation that is done when it is asked for the first time."""
    results: list[Value] = []

    def compute_once() -> Value:
        if not results:
            results.append(Unknown("this value depends on itself"))
            results[0] = compute()
        return results[0]

    return compute_once


LONGEST_LOADER = 1_500


def is_load(scope: Scope, loader: str, wrapper: str) -> bool:
    """Whether a call loads a module of a bundle: of a function that is short and sets its exports."""
    for name, word in ((loader, b"exports"), (wrapper, b"__esModule")):
        if not name:
            if word == b"exports":
                return False
            continue
        at: Scope | None = scope
        while at is not None and name not in at.variables:
            at = at.parent
        function = at.variables[name] if at is not None else None
        if not isinstance(function, JsFunction) or not mentions(function.code, word):
            return False
    return True


def mentions(code: FunctionCode, word: bytes) -> bool:
    """Whether a short function has a word in it."""
    node = code.node
    return node.end_byte - node.start_byte <= LONGEST_LOADER and word in node.text  # type: ignore[operator]
