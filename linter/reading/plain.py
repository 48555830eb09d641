"""Loaders that are plainly right: all they do with a tensor, or with the stream, is to hand it on in the same step.

Most loaders of a model zoo are of this kind. They are told by their `ast` alone, at a tenth of what running them costs.
"""

from __future__ import annotations

from loaderlint.linter.reading.in_step import is_plain_loader
from loaderlint.linter.reading.index import Function
from loaderlint.linter.reading.installing import installs_only_judged
from loaderlint.linter.reading.outline import Outline
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reading.stream_flow import StreamFlow
from loaderlint.linter.reading.streams import PAIR


def is_harmless(function: Function, project: Project) -> bool:
    """Whether `function` need not be run: it only hands on what it is lent, and makes no weight loader of its own."""
    if (function.streams or function.lent) and not _is_plain(function, project):
        return False
    return installs_only_judged(function, project)


def _is_plain(function: Function, project: Project) -> bool:
    """Whether `function` does nothing with its only stream, or lent tensors, but to hand them on at once."""
    if function.streams and list(function.streams.values()) != [PAIR]:
        return False
    if function.lent:
        return is_plain_loader(function, project)
    (stream,) = function.streams
    return StreamFlow(function, Outline(function.node), project).is_read_in_step(stream)
