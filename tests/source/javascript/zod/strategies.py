"""Random schemas of zod, as expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from .expressions import Expression, Function, Later, Regex, z

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = st.sampled_from(["Some text.", 'Of "quotes" and ümlauts.', "a/b", "1"])
NAMES = st.sampled_from(["a", "b", "c", "d/e", "f g"])
NUMBERS = st.sampled_from([0, 1, 2, 5, 10, 0.5])
TRUE = Function("() => true")
SAME = Function("value => value")


def schemas(version: int) -> st.SearchStrategy[Expression]:
    """Schemas of a major version of zod."""
    leaves = st.one_of(_strings(version), _numbers(), _others(version))
    return st.recursive(
        leaves, lambda inner: st.one_of(_containers(version, inner), _wrappers(version, inner)), max_leaves=8
    )


def objects(version: int) -> st.SearchStrategy[Expression]:
    """Object schemas, as tools have them, sometimes with one schema in several places."""
    return st.builds(
        _object, st.dictionaries(NAMES, schemas(version), max_size=4), schemas(version), st.booleans(), _nodes()
    )


def _object(shape: dict[str, Any], shared: Expression, repeats: bool, tree: Expression | None) -> Expression:
    if repeats:
        shape = {**shape, "first": shared, "second": shared.optional(), "third": z.array(shared)}
    schema: Expression = z.object(shape if tree is None else {**shape, "tree": tree})
    return schema


def _nodes() -> st.SearchStrategy[Expression | None]:
    def node(text: str) -> Expression:
        tree: Expression = z.object({"text": z.string().describe(text), "next": z.array(z.lazy(Later(lambda: tree)))})
        return tree

    return st.none() | TEXTS.map(node)


def _chained(start: st.SearchStrategy[Expression], steps: list[tuple[Any, ...]]) -> st.SearchStrategy[Expression]:
    """Expressions with up to three calls of methods, given as name and arguments."""

    def chain(expression: Any, calls: list[tuple[Any, ...]]) -> Any:
        for name, *arguments in calls:
            expression = getattr(expression, name)(*arguments)
        return expression

    return st.builds(chain, start, st.lists(st.sampled_from(steps), max_size=3))


def _strings(version: int) -> st.SearchStrategy[Expression]:
    formats = ["email", "url", "uuid", "datetime", "date", "cuid", "cuid2", "ulid", "nanoid", "base64", "emoji", "jwt"]
    formats += ["ip"] if version == 3 else ["ipv4", "ipv6", "guid", "e164", "ksuid", "xid", "cidrv4", "lowercase"]
    steps: list[tuple[Any, ...]] = [(name,) for name in formats]
    steps += [("min", 1), ("min", 3), ("max", 9), ("nonempty",), ("regex", Regex("^a[/b]")), ("regex", Regex("c", "i"))]
    steps += [("startsWith", "a/b"), ("endsWith", "w."), ("includes", "é"), ("trim",), ("describe", "D.")]
    steps += [("datetime", {"offset": True}), ("datetime", {"local": True, "precision": 3})]
    texts = _chained(_one_of(z.string, z.coerce.string), steps)
    if version == 3:
        return texts
    own = _one_of(z.email, z.url, z.uuid, z.uuidv4, z.ipv4, z.base64, z.cuid2, z.iso.date, z.iso.datetime, z.iso.time)
    common = [step for step in steps if step[0] in ("min", "max", "regex", "trim", "describe")]
    return texts | _chained(own, common)


def _one_of(*makers: Callable[[], Expression]) -> st.SearchStrategy[Expression]:
    """The result of one of these functions; a new one each time."""
    return st.sampled_from(makers).map(lambda make: make())


def _numbers() -> st.SearchStrategy[Expression]:
    bounds = [
        (name, value) for name in ("min", "max", "gt", "lt", "gte", "lte", "multipleOf") for value in (1, 2.5, 10)
    ]
    steps: list[tuple[Any, ...]] = [*bounds, ("int",), ("positive",), ("nonnegative",), ("describe", "D."), ("safe",)]
    return _chained(_one_of(z.number, z.coerce.number), steps)


def _others(version: int) -> st.SearchStrategy[Expression]:
    shared = [
        *(z.boolean, z.any, z.unknown, z.null_, z.never, z.coerce.boolean),
        *(
            lambda: z.enum(["a", "b"]),
            lambda: z.nativeEnum({"A": 0, "0": "A", "B": "x"}),
            lambda: z.nativeEnum({"A": "a"}),
        ),
        *(lambda: z.literal("a"), lambda: z.literal(1), lambda: z.literal(True), lambda: z.literal(None)),
    ]
    if version == 3:
        shared += [z.date, z.bigint, z.coerce.date, z.nan]
    else:
        shared += [z.int, z.int32, z.stringbool, lambda: z.literal(["a", "b"]), lambda: z.literal(["a", 1])]
    return _one_of(*shared)


def _containers(version: int, inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    shapes = st.dictionaries(NAMES, inner, max_size=3)
    records = [
        st.builds(lambda value: z.record(z.string(), value), inner),
        st.builds(lambda value: z.record(z.string().min(2), value), inner),
        st.builds(lambda value: z.record(z.enum(["a", "b"]), value), inner),
    ]
    arrays = _chained(inner.map(z.array), [("min", 1), ("max", 3), ("describe", "D."), ("nonempty",), ("length", 2)])
    return st.one_of(
        arrays,
        _objects(version, shapes, inner),
        st.lists(inner, min_size=2, max_size=3).map(z.union),
        st.lists(inner, min_size=1, max_size=3).map(z.tuple),
        st.builds(lambda item, rest: z.tuple([item]).rest(rest), inner, inner),
        st.builds(lambda one, two: z.intersection(z.object(one), z.object(two)), shapes, shapes),
        st.builds(lambda one, two: z.discriminatedUnion("t", [_tagged("x", one), _tagged("y", two)]), shapes, shapes),
        *records,
    )


def _tagged(tag: str, shape: dict[str, Expression]) -> Expression:
    schema: Expression = z.object({**shape, "t": z.literal(tag)})
    return schema


def _objects(
    version: int, shapes: st.SearchStrategy[dict[str, Expression]], inner: st.SearchStrategy[Expression]
) -> st.SearchStrategy[Expression]:
    steps: list[tuple[Any, ...]] = [
        ("strict",),
        ("passthrough",),
        ("strip",),
        ("partial",),
        ("required",),
        ("describe", "D."),
    ]
    steps += [("extend", {"x": z.string().describe("X.")}), ("merge", z.object({"y": z.number()}).strict())]
    steps += [("catchall", z.string())]
    return _chained(shapes.map(z.object), steps)


def _wrappers(version: int, inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    steps: list[tuple[Any, ...]] = [("optional",), ("nullable",), ("nullish",), ("readonly",), ("brand",), ("array",)]
    steps += [("refine", TRUE), ("transform", SAME), ("describe", "One."), ("describe", "Two."), ("promise",)]
    if version == 4:
        steps = [step for step in steps if step[0] != "promise"]
        steps += [("meta", {"title": "T", "examples": [1]}), ("meta", {"deprecated": True}), ("prefault", "x")]
    defaults = _one_of(z.string, z.any)
    valued = _chained(defaults, [("describe", "D.")]).flatmap(
        lambda schema: st.sampled_from(
            [("default", "x"), ("default", Function("() => 'x'", lambda: "x")), ("catch", "x")]
        ).map(lambda call: getattr(schema, call[0])(call[1]))
    )
    return st.one_of(
        _chained(inner, steps),
        _chained(valued, steps),
        inner.map(z.optional),
        inner.map(z.nullable),
        st.builds(lambda one, two: one.or_(two), inner, inner),
        st.builds(lambda one, two: one.pipe(two), inner, inner),
        inner.map(lambda schema: z.preprocess(SAME, schema)),
        inner.map(lambda schema: z.lazy(Later(lambda: schema))),
    )
