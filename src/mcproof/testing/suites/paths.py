"""Value paths: dotted paths into a result, such as `result.content[0].text` or `tool["find book"].score`."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final

from mcproof.core.errors import nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.yaml_document import DEEPEST

LONGEST = 1_000
"""Maximum length of a path, in characters."""

_STEP = re.compile(
    r"""\.(?P<name>[^\s.\[\]"'*]++)
    | \[(?P<index>[0-9]{1,9})\]
    | \[(?P<every>\*)\]
    | \[(?P<quoted>"(?:[^"\\]|\\.)*+"|'[^']*+')\]
    """,
    re.VERBOSE,
)

CALL: Final = ("result", "error", "rejected", "duration_ms", "asked")
"""Roots of paths into the response to a call."""
NEGATIVE_PATH: Final = ("checks_run", "failures", "gate_passed")
FUZZ: Final = (
    "cases_run",
    "crashes",
    "hangs",
    "protocol_violations",
    "leaks",
    "injections",
    "accepted",
    "gate_passed",
)
QUALITY: Final = (
    "min_score",
    "mean_score",
    "critical_count",
    "warning_count",
    "schema_criticals",
    "schema_warnings",
)
BLOCKS: Final = {"negative_path": NEGATIVE_PATH, "fuzz": FUZZ}
"""The numbers that each block of a tool test reports."""


class Every(NamedTuple):
    """The `[*]` step: every item of a list or member of an object; only in masks."""


EVERY = Every()
PathStep = str | int | Every
"""A key, an index, or `[*]`."""


class MissingValue(NamedTuple):
    """The result of a path that has no value."""

    reached: str
    """The longest prefix of the path that has a value."""
    why: str


class ValuePath(NamedTuple):
    """A parsed path."""

    text: str
    steps: tuple[PathStep, ...]

    @property
    def root(self) -> str:
        return str(self.steps[0])

    def value_in(self, facts: dict[str, Any]) -> Any:
        """Return the value of the path in `facts`, or a MissingValue."""
        value: Any = facts
        for done, step in enumerate(self.steps):
            if isinstance(step, str) and isinstance(value, dict):
                if step not in value:
                    if step == "isError" and self.steps[:done] == ("result",):
                        return False  # an absent `isError` means false
                    return self._missing(done, _has(value))
            elif isinstance(step, int) and isinstance(value, list):
                if step >= len(value):
                    return self._missing(done, f"has {len(value):,} item{'' if len(value) == 1 else 's'}")
            else:
                return self._missing(done, f"is {kind_of(value)}")
            value = value[step]
        return value

    def _missing(self, done: int, why: str) -> MissingValue:
        return MissingValue(path_text(self.steps[:done]), why)


def _has(value: dict[str, Any]) -> str:
    names = ", ".join(list(value)[:8])
    more = f" and {len(value) - 8:,} more" if len(value) > 8 else ""
    return f"has {names}{more}" if value else "is empty"


def path_text(steps: tuple[PathStep, ...], before: str = "") -> str:
    """Return steps in the syntax of suites."""
    for step in steps:
        if isinstance(step, Every):
            before += "[*]"
        elif isinstance(step, int):
            before += f"[{step}]"
        elif _STEP.fullmatch(f".{step}"):
            before += f".{step}" if before else step
        else:
            before += f"[{json.dumps(step, ensure_ascii=False)}]"
    return before


class ValuePathError(ValueError):
    """Text that is not a value path; the message is the reason."""


@lru_cache(1_000)
def parse_value_path(text: str, *, allows_every: bool = False) -> ValuePath:
    """Parse a path. Raises ValuePathError. Cached, since suites repeat the same few paths."""
    if len(text) > LONGEST:
        raise ValuePathError(f"is longer than {LONGEST:,} characters")
    source, at, steps = f".{text}", 0, list[PathStep]()
    while at < len(source):
        match = _STEP.match(source, at)
        if match is None or (match["every"] and not allows_every):
            shown = source[at:][:40] if at else text[:40]
            raise ValuePathError(f"has a syntax error at `{shown}`; a path looks like `result.content[0].text`")
        steps.append(_step(match))
        at = match.end()
    if len(steps) > DEEPEST:
        raise ValuePathError(f"has more than {DEEPEST} steps")
    return ValuePath(text, tuple(steps))


def _step(match: re.Match[str]) -> PathStep:
    if match["name"] is not None:
        return match["name"]
    if match["index"] is not None:
        return int(match["index"])
    if match["every"] is not None:
        return EVERY
    quoted = match["quoted"]
    if quoted[0] == "'":
        return quoted[1:-1]
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ValuePathError(f"has an invalid quoted key {quoted[:40]}") from None


def refusal(path: ValuePath, roots: tuple[str, ...], blocks: tuple[str, ...] = ()) -> str | None:
    """Return why a test has no such path; None if it has."""
    root = path.root
    if root in blocks:
        names = BLOCKS[root]
        if len(path.steps) == 2 and path.steps[1] in names:
            return None
        word = str(path.steps[1]) if len(path.steps) > 1 else ""
        listed = ", ".join(f"{root}.{name}" for name in names)
        return f"unknown target `{path.text}`{_hint(word, names, f'{root}.')}; expected one of {listed}"
    if root in BLOCKS and len(path.steps) > 1:
        return f"the target `{path.text}` needs a `{root}` block in the same test"
    if root in roots:
        return None if len(path.steps) == 1 or root in ("result", "error", "asked") else f"`{root}` has no parts"
    shown = [*roots, *(f"{block}.{name}" for block in blocks for name in BLOCKS[block])]
    return f"unknown target `{path.text}`{nearest(root, shown)}; expected one of {', '.join(shown)}"


def quality_refusal(path: ValuePath) -> str | None:
    """Return why `tool_quality` has no such path; None if it has."""
    steps = path.steps
    if steps[0] == "tool" and len(steps) == 3 and isinstance(steps[1], str) and steps[2] == "score":
        return None
    if len(steps) == 1 and steps[0] in QUALITY:
        return None
    listed = ", ".join((*QUALITY, 'tool["NAME"].score'))
    return f"unknown target `{path.text}`{nearest(path.text, list(QUALITY))}; expected one of {listed}"


def is_number(path: ValuePath) -> bool:
    """Whether the value of a path is always a number."""
    return path.root in (*BLOCKS, *QUALITY, "duration_ms", "tool")


def _hint(word: str, names: tuple[str, ...], before: str) -> str:
    return nearest(word, list(names)).replace("`", f"`{before}", 1) if word else ""
