"""# unused-suppression (LDR901)

## What it does
Finds a `# noqa` comment that names a code of loaderlint's (`# noqa: LDR102`, `# noqa: LDR1`) and silences nothing with
it.

## Why is this bad?
It tells readers of a defect that is not there, and will hide the next one that is made on its line.

It is off until it is selected, for it is only as good as what the run has seen: a finding may show only in a run that
checks its callers too, or under other settings (`assume`, contracts, the admitted versions of a streamer). Select it
where the whole project is checked. So that it is not wrong more often than it has to be:

- a comment counts only if all rules that its code could stand for are on;
- only files that were analysed are looked at, and none in which a function could not be analysed;
- flake8 does not show it, because flake8 hands over one file at a time;
- a bare `# noqa` and the codes of other tools are left alone.

## Example
    for name, tensor in weights:  # noqa: LDR101
        load(name, tensor)

## Use instead
    for name, tensor in weights:
        load(name, tensor)

## Fix safety
Safe: exactly the unused codes go. Other codes and what else the comment says stay; a comment that said nothing else
goes as a whole.

## References
None: no wrong weights come of it.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.rules.base import RuleInfo

RULE = RuleInfo("LDR901", "unused-suppression", Category.PEDANTIC, "0.1.0", True)
