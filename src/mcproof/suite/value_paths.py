"""Which value is meant: dotted paths such as `result.content[0].text` or `tool["find book"].score`."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from mcproof.errors import nearest
from mcproof.text.yamltext import DEEPEST

LONGEST = 1_000
"""The length of a target, in characters."""

_STEP = re.compile(
    r"""\.(?P<name>[^\s.\[\]"'*]++)
    | \[(?P<index>[0-9]{1,9})\]
    | \[(?P<every>\*)\]
    | \[(?P<quoted>"(?:[^"\\]|\\.)*+"|'[^']*+')\]
    """,
    re.VERBOSE,
)

CALL: Final = ("result", "error", "duration_ms")
"""What an answer is looked at for."""
NEGATIVE_PATH: Final = ("checks_run", "failures", "gate_passed")
FUZZ: Final = ("cases_run", "crashes", "hangs", "protocol_violations", "leaks", "accepted", "gate_passed")
QUALITY: Final = (
    "min_score",
    "mean_score",
    "critical_count",
    "warning_count",
    "schema_criticals",
    "schema_warnings",
)
BLOCKS: Final = {"negative_path": NEGATIVE_PATH, "fuzz": FUZZ}
"""The numbers that a block of a tool test comes to."""


class Every(NamedTuple):
    """Every item of a list, or every member of an object; only in masks."""


EVERY = Every()
Step = str | int | Every
"""A key, an index, or all of them."""


class Missing(NamedTuple):
    """There is nothing where a target leads, and where it stops leading anywhere."""

    reached: str
    """As far as it leads."""
    why: str


class Target(NamedTuple):
    """A path that was read."""

    text: str
    steps: tuple[Step, ...]

    @property
    def root(self) -> str:
        return str(self.steps[0])

    def value_in(self, facts: dict[str, Any]) -> Any:
        """The value in what is known, or a Missing."""
        value: Any = facts
        for done, step in enumerate(self.steps):
            if isinstance(step, str) and isinstance(value, dict):
                if step not in value:
                    if step == "isError" and self.steps[:done] == ("result",):
                        return False  # a server that does not say so means no
                    return self._missing(done, _has(value))
            elif isinstance(step, int) and isinstance(value, list):
                if step >= len(value):
                    return self._missing(done, f"has {len(value):,} item{'' if len(value) == 1 else 's'}")
            else:
                return self._missing(done, f"is {kind_of(value)}")
            value = value[step]
        return value

    def _missing(self, done: int, why: str) -> Missing:
        return Missing(spelt(self.steps[:done]), why)


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def _has(value: dict[str, Any]) -> str:
    names = ", ".join(list(value)[:8])
    more = f" and {len(value) - 8:,} more" if len(value) > 8 else ""
    return f"has {names}{more}" if value else "is empty"


def spelt(steps: tuple[Step, ...], before: str = "") -> str:
    """Steps as they are written in a suite."""
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


class TargetError(ValueError):
    """A target that is none; the text says why."""


@lru_cache(1_000)
def parse_target(text: str, *, allows_every: bool = False) -> Target:
    """A target as it is written. Raises TargetError. Suites say the same few again and again."""
    if len(text) > LONGEST:
        raise TargetError(f"longer than {LONGEST:,} characters")
    source, at, steps = f".{text}", 0, list[Step]()
    while at < len(source):
        found = _STEP.match(source, at)
        if found is None or (found["every"] and not allows_every):
            shown = source[at:][:40] if at else text[:40]
            raise TargetError(f"cannot be read from `{shown}` on; a path is such as `result.content[0].text`")
        steps.append(_step(found))
        at = found.end()
    if len(steps) > DEEPEST:
        raise TargetError(f"has more than {DEEPEST} steps")
    return Target(text, tuple(steps))


def _step(found: re.Match[str]) -> Step:
    if found["name"] is not None:
        return found["name"]
    if found["index"] is not None:
        return int(found["index"])
    if found["every"] is not None:
        return EVERY
    quoted = found["quoted"]
    if quoted[0] == "'":
        return quoted[1:-1]
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise TargetError(f"{quoted[:40]} is no text in quotes") from None


def refusal(target: Target, known: tuple[str, ...], blocks: tuple[str, ...] = ()) -> str | None:
    """Why nothing of a test can be meant by a target; None where something is."""
    root = target.root
    if root in blocks:
        names = BLOCKS[root]
        if len(target.steps) == 2 and target.steps[1] in names:
            return None
        word = str(target.steps[1]) if len(target.steps) > 1 else ""
        listed = ", ".join(f"{root}.{name}" for name in names)
        return f"unknown target `{target.text}`{_hint(word, names, f'{root}.')}; there are {listed}"
    if root in BLOCKS and len(target.steps) > 1:
        return f"the target `{target.text}` needs a `{root}` block in the same test"
    if root in known:
        return None if len(target.steps) == 1 or root in ("result", "error") else f"`{root}` is a number; end there"
    shown = [*known, *(f"{block}.{name}" for block in blocks for name in BLOCKS[block])]
    return f"unknown target `{target.text}`{nearest(root, shown)}; there are {', '.join(shown)}"


def quality_refusal(target: Target) -> str | None:
    """Why a target means nothing of the quality of tools."""
    steps = target.steps
    if steps[0] == "tool" and len(steps) == 3 and isinstance(steps[1], str) and steps[2] == "score":
        return None
    if len(steps) == 1 and steps[0] in QUALITY:
        return None
    listed = ", ".join((*QUALITY, 'tool["NAME"].score'))
    return f"unknown target `{target.text}`{nearest(target.text, list(QUALITY))}; there are {listed}"


def is_number(target: Target) -> bool:
    """Whether a target can be nothing but a number."""
    return target.root in (*BLOCKS, *QUALITY, "duration_ms", "tool")


def _hint(word: str, names: tuple[str, ...], before: str) -> str:
    return nearest(word, list(names)).replace("`", f"`{before}", 1) if word else ""
