"""What a case of `make engines` says: a loader of an engine, the small model it fills, and what the guard must see."""

from __future__ import annotations

from dataclasses import dataclass, field

Shape = tuple[int, ...]
# Six KiB: more than a page, so that each tensor fills the streamer's smallest buffer alone.
ROWS, COLUMNS = 48, 32
SHAPE: Shape = (ROWS, COLUMNS)
# Where a parameter's weight loader puts a piece: its rows.
Pieces = dict[object, slice]


@dataclass(frozen=True)
class Case:
    """One `load_weights` of an engine, run on a model that was made without its `__init__`.

    `parameters` are the names of the model's parameters; modules are made for what their names hold. Those in
    `pieces` get a `weight_loader(parameter, tensor, piece)`. `filled` are modules that have a `load_weights` of
    their own, which copies by name. `config` and `attributes` (dotted names) are what the function looks up.
    `checkpoint` are the names in the file, in their order; shapes are SHAPE unless `shapes` says otherwise.

    `kept` is the place, as `file:line`, where the stream moves on while the function keeps its tensors, and
    `read` the place of the first stale read; both are empty for a function that keeps nothing.
    """

    module: str
    loader: str
    parameters: tuple[str, ...]
    checkpoint: tuple[str, ...]
    filled: tuple[str, ...] = ()
    pieces: dict[str, Pieces] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    config: dict[str, object] = field(default_factory=dict)
    attributes: dict[str, object] = field(default_factory=dict)
    kept: str = ""
    read: str = ""

    @property
    def name(self) -> str:
        """Return the module's last part and the class."""
        return f"{self.module.rpartition('.')[2]}.{self.loader}"

    @property
    def keeps(self) -> bool:
        """Whether the function reads tensors that it kept past the stream's next step."""
        return bool(self.read)


def layers(count: int, *patterns: str) -> tuple[str, ...]:
    """Return each pattern with the number of each layer, the layers in order."""
    return tuple(pattern.format(number) for number in range(count) for pattern in patterns)
