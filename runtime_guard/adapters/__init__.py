"""Which adapter hooks which module, right after its import, and the level under which they guard."""

from __future__ import annotations

from ..levels import OFF, Setting

_VERL_ENGINES = ("hccl", "kimi", "mooncake", "nccl", "nixl")

ADAPTERS = {
    "runai_model_streamer.safetensors_streamer.safetensors_streamer": "runai",
    "runai_model_streamer.file_streamer.slot_pool": "runai_slabs",
    "fastsafetensors.file_buffer": "fastsafetensors",
    "instanttensor._impl": "instanttensor",
    "checkpoint_engine.worker": "checkpoint_engine",
    "sglang.srt.weight_sync.tensor_bucket": "sglang_buckets",
    "sglang.srt.model_executor.model_runner": "sglang_buckets",
    "sglang.srt.model_executor.model_runner_components.weight_updater": "sglang_buckets",
    "verl.workers.rollout.vllm_rollout.bucketed_weight_transfer": "verl_buckets",
    **{f"verl.checkpoint_engine.{name}_checkpoint_engine": "verl_engines" for name in _VERL_ENGINES},
}

_setting = Setting(OFF)


def set_guard(setting: Setting) -> None:
    """Guard what streams from now on under a level; the last setting given holds."""
    global _setting
    _setting = setting


def current_level() -> str:
    """Return the level given last."""
    return _setting.level


def is_on() -> bool:
    """Whether streams are guarded in this process."""
    return _setting.level != OFF


def is_strict() -> bool:
    """Whether every weights iterator counts as lent."""
    return _setting.strict
