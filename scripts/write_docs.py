"""Write docs/rules from the rules, and docs/cli.md, docs/changes.md and docs/clients.md from the code and its data.

`make docs` runs this; a test fails when a page is stale.
"""

from __future__ import annotations

import pathlib

from mcproof.checks.clients.profiles import known_profiles
from mcproof.checks.diff.kinds import changes_page
from mcproof.checks.rule import all_rules
from mcproof.checks.rulebook import index_page, rule_page
from mcproof.cli.help import reference_page
from mcproof.report.listings import clients_page

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"


def pages() -> dict[str, str]:
    """Every generated page, by its path in docs."""
    rules = {f"rules/{rule.id}.md": rule_page(rule) for rule in all_rules()}
    return {
        "changes.md": changes_page(),
        "clients.md": clients_page(list(known_profiles().values())),
        "cli.md": reference_page(),
        "rules/index.md": index_page(),
        **rules,
    }


def main() -> None:
    wanted = pages()
    for stale in DOCS.glob("rules/*.md"):
        if f"rules/{stale.name}" not in wanted:
            stale.unlink()
    for name, text in wanted.items():
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(wanted)} pages to {DOCS}")


if __name__ == "__main__":
    main()
