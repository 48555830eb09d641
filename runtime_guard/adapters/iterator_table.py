"""The weights iterators that count as lent under `strict`, by module: methods, and functions by their ending."""

from __future__ import annotations

_ENDING = "*_weights_iterator"

ITERATORS = {
    "runai_model_streamer.safetensors_streamer.safetensors_streamer": "SafetensorsStreamer.get_tensors",
    "fastsafetensors.parallel_loader": "PipelineParallel.iterate_weights",
    "instanttensor._impl": "safe_open.tensors",
    "vllm.model_executor.model_loader.weight_utils": _ENDING,
    "vllm.model_executor.model_loader.tensorizer": _ENDING,
    "sglang.srt.model_loader.weight_utils": _ENDING,
    "sglang.multimodal_gen.runtime.loader.weight_utils": _ENDING,
}
