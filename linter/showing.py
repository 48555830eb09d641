"""`--show-ownership FILE:LINE`: what the interpreter believes about the variables at one place."""

from __future__ import annotations

from loaderlint.linter.interpreter.analysis import Interpreter
from loaderlint.linter.interpreter.describe import describe
from loaderlint.linter.interpreter.watching import Watch
from loaderlint.linter.reading.candidates import candidates
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reading.source import SourceError, read_source
from loaderlint.linter.settings import Settings


def show_ownership(path: str, line: int, settings: Settings) -> list[str]:
    """One line of text for each variable, as it is before the statement on `line` runs, over all paths to it.

    Raises `SourceError` for a file that cannot be read, and for a line that no analysed path leads to.
    """
    project = Project(settings.contracts)
    index = project.add(read_source(path))
    watch = Watch(path, line)
    for function in sorted(
        candidates(index, project.exports.maker_offers), key=lambda item: item.qualname.count(".")
    ):
        Interpreter(project, settings, watch).run(function)
    if watch.state is None:
        message = "no function that handles a weight stream has a statement on this line"
        raise SourceError(path, line, message)
    variables = watch.state.frames.get(watch.frame, {})
    return [
        f"{name}: {describe(value, watch.state)}"
        for name, value in sorted(variables.items())
        if not name.startswith("%")
    ]
