"""Modules: their imports and exports, in both module systems of JavaScript."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp import functions
from mcproof.source.javascript.interp.interpreter import (
    STEPS_IN_BUNDLE,
    STEPS_OF_CALL,
    BudgetExceededError,
    Deferred,
    JsThrowError,
    Scope,
)
from mcproof.source.javascript.interp.members import get_member, member_from
from mcproof.source.javascript.interp.statements import compile_statement, hoisted_function
from mcproof.source.javascript.syntax import children_of, string_of
from mcproof.source.javascript.values import UNDEFINED, JsArray, JsObject, Library, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from mcproof.source.javascript.files import ProjectFiles
    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.syntax import SourceFile
    from mcproof.source.javascript.values import Value

DEEPEST_IMPORT = 200
LARGEST_OWN = 400_000
"""A larger file is a bundle: hardly any of its functions is the server's own."""


class Module:
    """A file that is followed."""

    def __init__(self, run: Interpreter, source: SourceFile, registering: tuple[bytes, ...]) -> None:
        self.run = run
        self.source = source
        self.scope = Scope(None, is_function=True)
        self.exports = JsObject({})
        """What it exports, by name; of CommonJS, the first value of `module.exports`."""
        self.holder = JsObject({"exports": self.exports})
        self.is_done = False
        self.steps_of_call = STEPS_IN_BUNDLE if len(source.data) > LARGEST_OWN else STEPS_OF_CALL
        self.meta = JsObject({"url": f"file://{source.path}", "dirname": os.path.dirname(source.path)})
        self.meta.members["filename"] = source.path
        self._registering = sorted(offset for word in registering for offset in _occurrences(source.data, word))
        self.require = functions.NativeFunction("require", lambda this, given: self.required(_first(given)))
        self.require.members["resolve"] = functions.NativeFunction("resolve", lambda this, given: _first(given))

    def registers_in(self, start: int, end: int) -> bool:
        """Whether a range of its text has a word in it that registers something."""
        at = bisect_left(self._registering, start)
        return at < len(self._registering) and self._registering[at] < end

    @property
    def registers(self) -> bool:
        return bool(self._registering)

    def value(self) -> Value:
        """What `require` returns for it."""
        return self.holder.members.get("exports", UNDEFINED)

    def set_whole(self, value: Value) -> None:
        """Set `module.exports`."""
        self.run.write(self.holder.members, "exports", value, self.holder.birth)

    def exported(self, name: str) -> Value:
        """What an import of a name gets."""
        whole = self.value()
        if isinstance(whole, JsObject):
            member = member_from(self.run, whole, name, whole)
            if member is UNDEFINED and name == "default" and "default" not in whole.members:
                return whole
            return member
        return whole if name == "default" else get_member(self.run, whole, name)

    def namespace(self) -> Value:
        """What `import * as name` gets."""
        return self.value()

    def imported(self, request: Value) -> Value:
        """What `import(…)` comes to."""
        if not isinstance(request, str):
            options = request.options if isinstance(request, Unknown) else ()
            if not (isinstance(request, Unknown) and request.is_default and isinstance(options[0], str)):
                return Unknown("which module is imported is not known")
            request = options[0]
        loaded = self.run.modules.load_for(self, request)
        return loaded.namespace() if isinstance(loaded, Module) else loaded

    def required(self, request: Value) -> Value:
        """What `require(…)` returns."""
        if isinstance(request, Unknown) and request.is_default:
            request = request.options[0]
        if not isinstance(request, str):
            return Unknown("which module is required is not known")
        loaded = self.run.modules.load_for(self, request)
        return loaded.value() if isinstance(loaded, Module) else loaded

    def follow(self) -> None:
        """Bind its imports and exports, then run its statements."""
        scope, variables = self.scope, self.scope.variables
        nodes = children_of(self.source.root)
        exporting = [node for node in nodes if node.type == "export_statement"]
        is_script = not exporting and not any(node.type == "import_statement" for node in nodes)
        if is_script:
            variables.update(exports=self.exports, module=self.holder)
        variables["require"] = self.require
        variables["__filename"] = self.source.path
        variables["__dirname"] = os.path.dirname(self.source.path)
        for node in exporting:
            self._export(node)
        for node in nodes:
            inner = hoisted_function(node)
            if inner is not None:
                code = functions.FunctionCode(self, inner)
                variables[code.name or "default"] = functions.JsFunction(code, scope, code.name or "default")
        for node in nodes:
            if node.type == "import_statement":
                self._import(node)
            elif node.type == "export_statement" and (source := node.child_by_field_name("source")) is not None:
                self.run.modules.load_for(self, string_of(self.source, source))
        for node in nodes:
            self._execute(node)
        self.is_done = True

    def _execute(self, node: Node) -> None:
        """Execute a statement. What fails in it does not end the module: a server that runs gets past it."""
        run = self.run
        entered, is_over = run.enter(None), False  # a module is followed once, whoever imports it
        try:
            execute = compile_statement(self, node)
            run.charge(1)
            execute(self.scope)
        except JsThrowError:  # the rest of the module would not run either
            return
        except RecursionError:
            run.modules.note_endless(self, node)
        except BudgetExceededError:
            run.modules.note_endless(self, node)
            is_over = True
        finally:
            can_go_on = run.leave(entered, is_central=True)
        if is_over and not can_go_on:
            raise BudgetExceededError

    def _import(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        clause = next((child for child in node.children if child.type == "import_clause"), None)
        if source is None or any(child.type == "type" for child in node.children):
            return
        if clause is not None and self._is_for_types(clause):
            return
        request = string_of(self.source, source)
        loaded = self.run.modules.load_for(self, request)
        for child in children_of(clause) if clause is not None else ():
            if child.type == "identifier":
                self._bind(self.source.text(child), loaded, "default")
            elif child.type == "namespace_import":
                name = self.source.text(children_of(child)[0])
                self.scope.variables[name] = loaded.namespace() if isinstance(loaded, Module) else loaded
            elif child.type == "named_imports":
                for specifier in children_of(child):
                    name_node, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
                    if name_node is not None:
                        self._bind(self._name(alias or name_node), loaded, self._name(name_node))

    def _is_for_types(self, clause: Node) -> bool:
        """Whether all names of a clause are types, which leave no import behind."""
        specifiers = [
            specifier_node
            for child in children_of(clause)
            if child.type == "named_imports"
            for specifier_node in children_of(child)
        ]
        is_only = all(child.type == "named_imports" for child in children_of(clause))
        return (
            is_only
            and bool(specifiers)
            and all(any(part.type == "type" for part in specifier.children) for specifier in specifiers)
        )

    def _name(self, node: Node) -> str:
        return string_of(self.source, node) if node.type == "string" else self.source.text(node)

    def _bind(self, name: str, loaded: Module | Value, exported: str) -> None:
        if isinstance(loaded, Module):
            self.scope.variables[name] = Deferred(lambda: loaded.exported(exported))
        elif isinstance(loaded, (JsObject, JsArray)):  # data of a JSON file, which has only a default export
            self.scope.variables[name] = loaded if exported == "default" else get_member(self.run, loaded, exported)
        else:
            self.scope.variables[name] = get_member(self.run, loaded, exported)

    def _export(self, node: Node) -> None:
        """Bind the names that a statement exports."""
        members = self.exports.members
        source, declaration = node.child_by_field_name("source"), node.child_by_field_name("declaration")
        request = string_of(self.source, source) if source is not None else None
        if any(child.type == "type" for child in node.children):
            return
        clause = next((child for child in node.children if child.type in ("export_clause", "namespace_export")), None)
        if clause is not None and clause.type == "namespace_export" and request is not None:
            name = self._name(children_of(clause)[0])
            members[name] = Deferred(functions.once(lambda: self._from(request, None)))
        elif clause is not None:
            for specifier in children_of(clause):
                name_node, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
                if name_node is None:
                    continue
                local, name = self._name(name_node), self._name(alias or name_node)
                if request is not None:
                    members[name] = Deferred(lambda local=local: self._from(request, local))  # type: ignore[misc]
                else:
                    members[name] = Deferred(lambda local=local: self._local(local))  # type: ignore[misc]
        elif request is not None:
            self._export_all(request)
        elif declaration is not None:
            from mcproof.source.javascript.interp.patterns import names_in

            if any(child.type == "default" for child in node.children):
                name_node = declaration.child_by_field_name("name")
                local = self.source.text(name_node) if name_node is not None else "default"
                members["default"] = Deferred(lambda: self._local(local))
                return
            declarators = [child for child in children_of(declaration) if child.type == "variable_declarator"]
            if declarators:
                names = [
                    name
                    for declarator in declarators
                    for name in names_in(self, declarator.child_by_field_name("name"))
                ]
            else:
                named = declaration.child_by_field_name("name")
                names = [self.source.text(named)] if named is not None else []
            if declaration.type not in ("interface_declaration", "type_alias_declaration"):
                for name in names:
                    members[name] = Deferred(lambda name=name: self._local(name))  # type: ignore[misc]

    def _local(self, name: str) -> Value:
        value = self.scope.variables.get(name, UNDEFINED)
        return value.compute() if value.__class__ is Deferred else value

    def _from(self, request: str, name: str | None) -> Value:
        """What another module exports under a name, or all of it."""
        loaded = self.run.modules.load_for(self, request)
        if isinstance(loaded, Module):
            return loaded.namespace() if name is None else loaded.exported(name)
        return loaded if name is None else get_member(self.run, loaded, name)

    def _export_all(self, request: str) -> None:
        """`export * from "…"`: its names are found through the prototype, so that cyclic imports find them too."""
        loaded = self.run.modules.load_for(self, request)
        if not isinstance(loaded, Module):
            self.exports.is_open = True
            return
        for name in loaded.export_names(set()):
            if name != "default":
                self.exports.members.setdefault(
                    name,
                    Deferred(lambda name=name: loaded.exported(name)),  # type: ignore[misc]
                )
        above: JsObject | None = loaded.exports
        while above is not None and above is not self.exports:
            above = above.proto
        if not loaded.is_done and above is None:  # else each exports everything of the other
            self.exports.proto = loaded.exports

    def export_names(self, seen: set[int]) -> Iterator[str]:
        """The names that it exports."""
        whole = self.value()
        if id(self) not in seen and isinstance(whole, JsObject):
            seen.add(id(self))
            yield from list(whole.members)


def _occurrences(data: bytes, word: bytes) -> Iterator[int]:
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + 1)


def _first(given: list[Value]) -> Value:
    return given[0] if given else UNDEFINED


class Modules:
    """The modules of a project, each followed once."""

    def __init__(
        self,
        run: Interpreter,
        files: ProjectFiles,
        registering: tuple[bytes, ...],
        note_endless: Callable[[Module, Node], None],
    ) -> None:
        self._run = run
        self._files = files
        self._registering = registering
        self._known: dict[str, Module | Value] = {}
        self._depth = 0
        self.note_endless = note_endless

    @property
    def loaded(self) -> list[Module]:
        return [module for module in self._known.values() if isinstance(module, Module)]

    def load(self, path: str) -> Module | Value:
        """The module in a file, followed as soon as it is asked for the first time."""
        if path in self._known:
            return self._known[path]
        if path.endswith(".json"):
            self._known[path] = self._data(path)
            return self._known[path]
        source = self._files.parse(path)
        if source is None:
            self._known[path] = Unknown("this module cannot be read")
            return self._known[path]
        module = self._known[path] = Module(self._run, source, self._registering)
        if self._depth > DEEPEST_IMPORT:
            return module
        self._depth += 1
        try:
            module.follow()
        finally:
            self._depth -= 1
        return module

    def load_for(self, importer: Module, request: str) -> Module | Value:
        """The module that a file imports, or what stands for it if it belongs to another package."""
        request = request.removeprefix("file://")
        path = self._files.resolve(request, importer.source.path)
        if path is not None:
            return self.load(path)
        if request[:1] in (".", "/"):
            return Unknown(f"`{request}` does not exist")
        package, subpath = split_request(request)
        return Library(package, (f"/{subpath}",) if subpath else ())

    def _data(self, path: str) -> Value:
        data = self._files.read(path)
        try:
            return as_value(json.loads(data or b""))
        except (ValueError, RecursionError):
            return Unknown("this file cannot be read")


def split_request(request: str) -> tuple[str, str]:
    """The package and the path in it that an import names."""
    parts = request.removeprefix("node:").split("/")
    count = 2 if request.startswith("@") else 1
    return "/".join(parts[:count]), "/".join(parts[count:])


def as_value(data: Any) -> Value:
    """JSON data as a value."""
    if isinstance(data, dict):
        return JsObject({name: as_value(member) for name, member in data.items()})
    if isinstance(data, list):
        return JsArray([as_value(item) for item in data])
    return data
