"""Clients against tools as a page shows them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcproof.report.client_grid import MARKS, client_grid, gain_phrases

if TYPE_CHECKING:
    from mcproof.checks.clients.verdicts import Improvement
    from mcproof.report.client_grid import ClientGrid, ClientRow, ToolColumn
    from mcproof.report.matrix_grid import Mark
    from mcproof.runs.results import CompatPayload, TargetResult

_COLUMNS = 16
"""How many groups of tools have a column."""


class ClientView:
    """The result of `compat` for one target."""

    def __init__(self, result: TargetResult, payload: CompatPayload) -> None:
        self._result = result
        self._payload = payload

    @cached_property
    def grid(self) -> ClientGrid:
        return client_grid(self._result, self._payload, _COLUMNS)

    @property
    def has_problems(self) -> bool:
        return any(row.verdict != "works" for row in self.grid.rows)

    @property
    def improvements(self) -> list[Improvement]:
        return self._payload.improvements

    def marks(self, row: ClientRow) -> list[Mark]:
        """The marks of a row: of the server as a whole, if any client has a problem with it, then of the tools."""
        return [MARKS[cell] for cell in ([row.server] if self.grid.has_server_column else []) + row.cells]

    @property
    def titles(self) -> list[str]:
        """The titles of the columns: the name of the only tool, or the number of tools."""
        server = ["server"] if self.grid.has_server_column else []
        return server + [_title(column) for column in self.grid.columns]

    @property
    def tooltips(self) -> list[str]:
        """The tools of each column."""
        server = ["the server as a whole"] if self.grid.has_server_column else []
        return server + [", ".join(column.tools[:40]) or "tools without a problem" for column in self.grid.columns]

    @staticmethod
    def gains(improvement: Improvement) -> str:
        return "; ".join(gain_phrases(improvement)) or "no gain before the steps below"


def _title(column: ToolColumn) -> str:
    return column.tools[0] if len(column.tools) == 1 else f"{column.size:,} tools"
