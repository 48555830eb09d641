"""# internal-error (LDR900)

## What it does
Reports a function that loaderlint failed to analyse, because of a defect of its own. The rest of the file, and all
other files, are checked.

## Why is this bad?
What the function does with its stream is not known: no finding in it means nothing. The report is on whatever is
selected, so that a run never looks clean that was not; only `ignore` and a comment turn it off.

## Example
    def load_weights(self, weights):  # LDR900: could not be analysed
        ...

## Use instead
Please report it, with the function or, better, with the smallest part of it that still fails. Until then
`# noqa: LDR900` on the line of the `def` silences it.

## Fix safety
There is no repair: your code is not at fault.

## References
None.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.rules.base import RuleInfo

RULE = RuleInfo("LDR900", "internal-error", Category.HAZARD, "0.1.0", False, always=True)
