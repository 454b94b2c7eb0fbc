"""Measurements of `prove`: several processes against one, and its calls against bare ones."""

from __future__ import annotations

import asyncio
import json
import pathlib
import subprocess
import sys
from typing import TYPE_CHECKING

from measure_servers import call_tool
from measurement import Comparison
from timing import best_of

from mcproof.core.observations.probes import MAX_CALLS

if TYPE_CHECKING:
    from measurement import Workspace

    from mcproof.core.catalog.model import Catalog
    from mcproof.probing.probes.prove import Proof

_SLOW = (sys.executable, str(pathlib.Path(__file__).with_name("servers") / "slow_server.py"))
SIZE = 1024 * 1024
_PROCESSES = 6
"""As many as `prove` starts by default."""


def proving(_: Workspace) -> Comparison:
    """`prove` of six tools whose calls take 0.2 s, by several processes against one."""
    server = (*_SLOW, "6", "0.2")
    several, one = best_of(1, lambda: _prove(server, _PROCESSES), lambda: _prove(server, 1))
    return Comparison.of(several, one, clock="wall")


def proving_many(_: Workspace) -> Comparison:
    """`prove` of 50 tools against the same calls and nothing else, over one connection."""
    from mcproof.client.endpoints import CommandEndpoint
    from mcproof.probing.probes.cases import ProbeCase
    from mcproof.probing.probes.promises import PROVE_CHECKS, probes_of_promises

    server = (*_SLOW, "50", "0")
    ready = []
    for tool in _catalog(server).tools:
        probes = probes_of_promises(
            tool, list(PROVE_CHECKS), given=None, size=SIZE, is_strict=False, max_calls=MAX_CALLS
        )
        ready += [each.sent_arguments() for each in (probes.baseline, *probes.cases) if isinstance(each, ProbeCase)]
    proved, bare = best_of(
        3, lambda: _prove(server, _PROCESSES), lambda: call_tool(CommandEndpoint(server, {}), "find_0", ready)
    )
    return Comparison.of(proved, bare, f"{len(ready):,} calls", clock="wall")


def _prove(server: tuple[str, ...], processes: int) -> Proof:
    """Send all probes of `prove` that call tools."""
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import CommandEndpoint
    from mcproof.client.session import Session
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.permission import permission
    from mcproof.probing.probes.cases import ProbePlan
    from mcproof.probing.probes.promises import PROVE_CHECKS
    from mcproof.probing.probes.prove import prove_over

    catalog = _catalog(server)
    calls = CallPlan([permission(tool) for tool in catalog.tools], {}, limit=10.0, processes=processes)
    plan = ProbePlan(calls, list(PROVE_CHECKS), explores=True, size=SIZE)

    async def probe() -> Proof:
        session = Session(CommandEndpoint(server, {}), ConnectOptions(), calls.limit)
        try:
            return await prove_over(catalog, session, plan)
        finally:
            await session.close()

    return asyncio.run(probe())


def _catalog(server: tuple[str, ...]) -> Catalog:
    from mcproof.targets.snapshots import read_snapshot

    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) + "\n"
    listed = subprocess.run(server, input=request.encode(), capture_output=True, check=True).stdout
    return read_snapshot(json.dumps(json.loads(listed)["result"]).encode(), "slow.json")
