"""Small models for the loaders of an engine, made without the `__init__` of their class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from types import SimpleNamespace

import torch
from case import SHAPE, Case, Pieces
from torch import nn


class Filled(nn.Module):
    """A part whose loader copies each tensor as it comes."""

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> set[str]:
        parameters = dict(self.named_parameters())
        loaded = set()
        for name, tensor in weights:
            parameters[name].data.copy_(tensor)
            loaded.add(name)
        return loaded


def build(case: Case) -> nn.Module:
    """Return a model of the case's class with zeros in its parameters."""
    kind = getattr(import_module(case.module), case.loader)
    model = object.__new__(kind)
    nn.Module.__init__(model)
    for name in case.filled:
        _put(model, name, Filled())
    for name in case.parameters:
        _put(model, name, _parameter(case, name))
    if case.config:
        model.config = _namespace(case.config)
    for name, value in case.attributes.items():
        _put(model, name, value)
    return model


def _put(model: nn.Module, dotted: str, value: object) -> None:
    *path, last = dotted.split(".")
    for step in path:
        if not hasattr(model, step):
            setattr(model, step, nn.Module())
        model = getattr(model, step)
    setattr(model, last, value)


def _parameter(case: Case, name: str) -> nn.Parameter:
    pieces = case.pieces.get(name, {})
    shape = case.shapes.get(name, SHAPE)
    if pieces:
        shape = (max(rows.stop for rows in pieces.values()), *shape[1:])
    parameter = nn.Parameter(torch.zeros(shape), requires_grad=False)
    if pieces:
        parameter.weight_loader = _loader_of(pieces)
    return parameter


def _loader_of(pieces: Pieces) -> Callable[..., None]:
    def weight_loader(parameter: nn.Parameter, tensor: torch.Tensor, piece: object) -> None:
        parameter.data[pieces[piece]].copy_(tensor)

    return weight_loader


def _namespace(values: dict[str, object]) -> SimpleNamespace:
    return SimpleNamespace(
        **{name: _namespace(value) if isinstance(value, dict) else value for name, value in values.items()}
    )
