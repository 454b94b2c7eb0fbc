"""Problems as LSP diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import CodeDescription, Diagnostic, DiagnosticSeverity

from mcproof.report.phrases import help_uri

if TYPE_CHECKING:
    from mcproof.checks.findings import Level
    from mcproof.lsp.analysis import EditorProblem
    from mcproof.lsp.text_positions import TextPositions

SOURCE = "mcproof"
_SEVERITIES: dict[Level, DiagnosticSeverity] = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "note": DiagnosticSeverity.Information,
}


def diagnostic_of(problem: EditorProblem, text: TextPositions) -> Diagnostic:
    """A problem as a diagnostic; `text` is that of its file."""
    finding = problem.finding
    return Diagnostic(
        range=text.range_at(problem.line, problem.column, problem.end_column),
        message=problem.message,
        severity=_SEVERITIES[problem.level],
        code=problem.code or None,
        code_description=CodeDescription(help_uri(finding.rule)) if finding is not None else None,
        source=SOURCE,
    )
