"""# unresolved-contract (LDR902)

## What it does
Finds an entry of `[tool.loaderlint.contracts]` that names a function, method or class of this very project which is not
there: the package exists, and the rest of the name leads nowhere.

## Why is this bad?
The entry has no effect. A function that was renamed is judged again by what can be read of it; a keeper, a copy or a
producer that cannot be read is taken for an unknown function, and findings come or go without a word.

Only names are reported that are certainly wrong. They have to begin with a package or module beside `pyproject.toml`,
or in `src` beside it. Libraries are not looked for: what begins like a package that is required, or that loaderlint
ships contracts for, is left alone. So is what may be made at run time: a module that has `__getattr__`, a star
import or `globals()`, a class with bases or decorators, compiled modules.

## Example
    [tool.loaderlint.contracts.functions]
    copy = ["engine.memory.own_tensor"]  # engine/memory.py has `own`

## Use instead
    [tool.loaderlint.contracts.functions]
    copy = ["engine.memory.own"]

## Fix safety
There is no repair: which name is meant is for you to say. The message tells the nearest one.

## References
None: it is about settings.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.rules.base import RuleInfo

RULE = RuleInfo("LDR902", "unresolved-contract", Category.HAZARD, "0.1.0", False)
