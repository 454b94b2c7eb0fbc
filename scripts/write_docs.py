"""Write docs/rules from the rules. `make docs` runs this; a test fails when the pages are stale."""

from __future__ import annotations

import pathlib

from mcproof.registry import all_rules
from mcproof.rulebook import index_page, rule_page

PAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "rules"


def pages() -> dict[str, str]:
    """Every generated page, by file name."""
    return {"index.md": index_page(), **{f"{rule.id}.md": rule_page(rule) for rule in all_rules()}}


def main() -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for stale in PAGES.glob("*.md"):
        if stale.name not in wanted:
            stale.unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(wanted)} pages to {PAGES}")


if __name__ == "__main__":
    main()
