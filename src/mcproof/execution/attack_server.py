"""Attack the tools of a live server, for `prove --security` and `fuzz --security`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.observations.probes import cropped_value, excerpt
from mcproof.execution.events import ProgressMade
from mcproof.execution.tool_calls import server_of
from mcproof.probing.attacks.run import AttackPlan, attack
from mcproof.probing.outcomes import Failure
from mcproof.probing.probes.failures import described

if TYPE_CHECKING:
    from mcproof.execution.events import Listener
    from mcproof.execution.target_run import LoadedTarget
    from mcproof.probing.attacks.run import AttackRun
    from mcproof.probing.permission import Permission


def attack_server(
    target: LoadedTarget,
    permissions: list[Permission],
    arguments: dict[str, dict[str, Any]],
    *,
    limit: float,
    seconds: float | None,
    listen: Listener,
) -> AttackRun:
    """Attack the tools of a server that may be called."""
    plan = AttackPlan(
        permissions=permissions,
        arguments=arguments,
        limit=limit,
        seconds=seconds,
        target=described(target.source),
    )
    return attack(server_of(target), plan, lambda *made: listen(ProgressMade(*made)))


def failures_of(attacks: AttackRun) -> list[Failure]:
    """The failures of attacks for the result."""
    return [
        Failure(
            id=stored.id,
            tool=stored.tool,
            outcome=stored.outcome,
            arguments=cropped_value(found.case.arguments),
            replay=f"mcproof replay {stored.id}",
            what=found.sentence,
            times=found.times,
            response=excerpt(found.response),
        )
        for found, stored in attacks.failures()
    ]
