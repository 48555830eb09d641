"""The imports that a repair needs: what is there already is used, what is not is added once, where it belongs."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.reading.source import SourceFile


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The file that a function stands in, and the project's own function that owns tensors ("pkg.module:function")."""

    source: SourceFile
    own_helper: str = ""

    def helper(self) -> tuple[str, list[Edit]]:
        """How the project's own function is written in the file, and the edits that import it."""
        module, _, name = self.own_helper.partition(":")
        here = PurePath(self.source.path).with_suffix("").as_posix()
        if f"/{here}".endswith("/" + module.replace(".", "/")):
            return name, []  # It is defined in this very file.
        return self.imported(module, name)

    def imported(self, module: str, name: str) -> tuple[str, list[Edit]]:
        """How `name` of `module` is written in the file, and the edits that import it if it is not there."""
        for bound, qualified in _imports(self.source.tree()):
            if qualified == f"{module}.{name}":
                return bound, []
            if qualified == module:
                return f"{bound}.{name}", []
        # A standard module by its name, in its order; a function of the project's own by the function's name.
        if module in sys.stdlib_module_names:
            line = _line_for(self.source.tree(), module)
            if line:
                return f"{module}.{name}", [Edit(line, 1, line, 1, f"import {module}\n")]
        whole = module in sys.stdlib_module_names
        after = _with_import(self.source.text, module, None if whole else name)
        return (f"{module}.{name}" if whole else name), list(_line_edits(self.source.text, after))


def _with_import(text: str, module: str, name: str | None) -> str:
    # Imported here: it takes longer than all else that a run without such a repair imports.
    from libcst.codemod import CodemodContext
    from libcst.codemod.visitors import AddImportsVisitor

    context = CodemodContext()
    AddImportsVisitor.add_needed_import(context, module, name)
    return AddImportsVisitor(context).transform_module(cst.parse_module(text)).code


def _line_for(tree: ast.Module, module: str) -> int:
    """The line before which `import module` goes: that of the first standard import that comes after it; 0 for none."""
    for node in tree.body:
        standard = (
            isinstance(node, ast.Import) and node.names[0].name.partition(".")[0] in sys.stdlib_module_names
        )
        if standard and node.names[0].name > module:
            return node.lineno
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            return node.lineno
    return 0


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that the module's own statements import, not those for type checkers alone, and what they are."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _line_edits(before: str, after: str) -> Iterator[Edit]:
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag != "equal":
            yield Edit(start + 1, 1, end + 1, 1, "".join(f"{line}\n" for line in new[first:last]))
