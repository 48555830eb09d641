"""Writes docs/rules/ and the table of rules in README.md, from the rules and their spec files.

    python docs/make_rule_pages.py

A test compares what is there with what this would write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from loaderlint.rules.base import RuleInfo
from loaderlint.rules.pages import page, repair, state, summary
from loaderlint.rules.registry import BY_CODE

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "rules"
README = ROOT / "README.md"

_TABLE = re.compile(r"(<!-- rules: .* -->\n).*?(<!-- end of rules -->)", re.DOTALL)
_INDEX = """# The rules

{table}
Categories are promises. *correctness*: for some producer, the weights are wrong; a false alarm is a defect of
loaderlint. *hazard*: it depends on device, type or version. *performance*: the weights are right, memory or time is
not. *pedantic*: off until it is selected. A rule in preview is off, too, until its full code is selected: its page says
what it still gets wrong. [The command line](../cli.md) tells how rules are selected and ignored.

`loaderlint rules` prints this list, `loaderlint explain LDR102` a page. These files are written by
`python docs/make_rule_pages.py`.
"""


def written() -> Mapping[Path, str]:
    """Every file that is generated, in whole or in part, with its text."""
    pages = {FOLDER / f"{code}.md": page(rule) for code, rule in BY_CODE.items()}
    readme = README.read_text("utf-8")
    return {
        **pages,
        FOLDER / "README.md": _INDEX.format(table=_table("")),
        README: _TABLE.sub(lambda match: match[1] + _table("docs/rules/") + match[2], readme),
    }


def _table(folder: str) -> str:
    rows = ["| code | name | what it does | level | by default | repair |", "|---|---|---|---|---|---|"]
    return "\n".join([*rows, *(_row(rule, folder) for rule in BY_CODE.values())]) + "\n"


def _row(rule: RuleInfo, folder: str) -> str:
    code = f"[{rule.code}]({folder}{rule.code}.md)"
    cells = [code, rule.name, summary(rule), rule.severity.value, state(rule), repair(rule)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write what differs, and remove the pages of rules that are gone."""
    files = written()
    FOLDER.mkdir(exist_ok=True)
    for path, text in files.items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    for path in FOLDER.glob("*.md"):
        if path not in files:
            path.unlink()
            print(f"removed: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
