"""Loaders of vLLM 0.33.0: some keep the tensors of their stream, some do not. Lines are those of that release."""

from __future__ import annotations

from case import COLUMNS, ROWS, Case, layers

_MODELS = "vllm.model_executor.models"
_COPY = "weight_utils.py:1543"  # where vLLM's default weight loader copies

KEEPING = (
    Case(
        f"{_MODELS}.roberta",
        "RobertaEmbeddingModel",
        parameters=layers(20, "model.encoder.{}.weight", "model.encoder.{}.bias"),
        checkpoint=layers(20, "roberta.encoder.{}.weight", "roberta.encoder.{}.bias"),
        kept="roberta.py:154",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.bert",
        "BertEmbeddingModel",
        parameters=layers(8, "model.encoder.{}.weight"),
        checkpoint=layers(8, "encoder.{}.weight"),
        kept="bert.py:509",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.bert",
        "BertSpladeSparseEmbeddingModel",
        filled=("model",),
        parameters=("mlm_head.dense.weight", "mlm_head.layer_norm.weight", "mlm_head.decoder.weight"),
        checkpoint=(
            "cls.predictions.transform.dense.weight",
            "cls.predictions.transform.LayerNorm.weight",
            "cls.predictions.decoder.weight",
        ),
        kept="bert.py:753",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.colqwen3_5",
        "ColQwen3_5Model",
        parameters=("custom_text_proj.weight", *layers(4, "language_model.model.layers.{}.weight")),
        checkpoint=(*layers(4, "language_model.layers.{}.weight"), "custom_text_proj.weight"),
        kept="colqwen3_5.py:221",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.colpali",
        "ColPaliModel",
        parameters=layers(4, "vision_tower.layers.{}.weight"),
        checkpoint=layers(4, "vision_tower.layers.{}.weight"),
        kept="colpali.py:180",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.parakeet",
        "ProjectedParakeet",
        parameters=("projection.norm.weight", *layers(4, "encoder.layers.{}.weight")),
        checkpoint=(*layers(4, "sound_encoder.encoder.layers.{}.weight"), "sound_projection.norm.weight"),
        kept="parakeet.py:84",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.radio",
        "RadioModel",
        parameters=("model.patch_generator.embedder.weight", *layers(4, "model.encoder.layers.{}.weight")),
        checkpoint=(
            "radio_model.model.patch_generator.embedder.weight",
            *layers(4, "radio_model.model.blocks.{}.weight"),
        ),
        kept="radio.py:704",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.modernbert",
        "ModernBertForSequenceClassification",
        filled=("model",),
        parameters=("classifier.weight", "pooling.dense.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=("classifier.weight", "head.dense.weight", *layers(4, "model.layers.{}.weight")),
        kept="modernbert.py:394",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.llama_eagle3",
        "Eagle3LlamaForCausalLM",
        parameters=("lm_head.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=(*layers(4, "layers.{}.weight"), "lm_head.weight"),
        attributes={
            "use_parallel_drafting": False,
            "model.use_aux_hidden_state": True,
            "model.norm_before_fc": True,
        },
        kept="llama_eagle3.py:425",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.qwen3_eagle3",
        "Eagle3Qwen3ForCausalLM",
        parameters=("lm_head.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=(*layers(4, "layers.{}.weight"), "lm_head.weight"),
        attributes={
            "use_parallel_drafting": False,
            "model.use_aux_hidden_state": True,
            "model.norm_before_fc": True,
        },
        kept="qwen3_eagle3.py:403",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.deepseek_eagle3",
        "Eagle3DeepseekV2ForCausalLM",
        parameters=("lm_head.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=(*layers(4, "layers.{}.weight"), "lm_head.weight"),
        kept="deepseek_eagle3.py:375",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.bagel",
        "BagelForConditionalGeneration",
        parameters=layers(4, "language_model.layers.{}.weight"),
        checkpoint=(*layers(4, "language_model.layers.{}.weight"), "time_embedder.weight"),
        kept="bagel.py:547",
        read=_COPY,
    ),
    Case(
        f"{_MODELS}.molmo",
        "MolmoForCausalLM",
        parameters=("model.embed_tokens.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=(
            "model.wte.embedding",
            "model.wte.new_embedding",
            *layers(4, "model.layers.{}.weight"),
        ),
        shapes={"model.embed_tokens.weight": (2 * ROWS, COLUMNS)},
        kept="molmo.py:1464",
        read="molmo.py:1473",
    ),
    Case(
        f"{_MODELS}.molmo2",
        "Molmo2ForConditionalGeneration",
        parameters=("model.embed_tokens.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=(
            "model.wte.embedding",
            "model.wte.new_embedding",
            *layers(4, "model.layers.{}.weight"),
        ),
        shapes={"model.embed_tokens.weight": (2 * ROWS, COLUMNS)},
        kept="molmo2.py:2671",
        read="molmo2.py:2686",
    ),
)

CLEAN = (
    Case(
        f"{_MODELS}.llama",
        "LlamaForCausalLM",
        parameters=("lm_head.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=("lm_head.weight", *layers(4, "model.layers.{}.weight")),
    ),
    Case(
        f"{_MODELS}.llama_eagle",
        "EagleLlamaForCausalLM",
        parameters=("lm_head.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=("lm_head.weight", *layers(4, "layers.{}.weight")),
    ),
    Case(
        f"{_MODELS}.mistral",
        "MistralForCausalLM",
        parameters=layers(4, "model.layers.{}.weight", "model.layers.{}.self_attn.q_proj.weight"),
        checkpoint=layers(4, "layers.{}.weight", "layers.{}.attention.wq.weight"),
        config={"head_dim": ROWS // 2, "num_attention_heads": 2, "hidden_size": COLUMNS},
    ),
    Case(
        f"{_MODELS}.exaone_moe_mtp",
        "ExaoneMoeMTP",
        parameters=("lm_head.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=("lm_head.weight", *layers(4, "mtp.layers.{}.weight"), "model.norm.weight"),
    ),
    Case(
        f"{_MODELS}.qwen3_5_mtp",
        "Qwen3_5MTP",
        parameters=("model.embed_tokens.weight", *layers(4, "model.layers.{}.weight")),
        checkpoint=("model.language_model.embed_tokens.weight", *layers(4, "mtp.layers.{}.weight")),
    ),
    Case(
        f"{_MODELS}.hy_v3",
        "HYV3ForCausalLM",
        parameters=layers(4, "model.layers.{}.weight"),
        checkpoint=layers(5, "model.layers.{}.weight"),
        config={"num_nextn_predict_layers": 1, "num_hidden_layers": 4},
    ),
    Case(
        f"{_MODELS}.roberta",
        "RobertaForSequenceClassification",
        parameters=("classifier.weight", *layers(4, "roberta.encoder.{}.weight")),
        checkpoint=("classifier.weight", *layers(4, "roberta.encoder.{}.weight")),
    ),
    Case(
        f"{_MODELS}.bert",
        "BertModel",
        parameters=layers(4, "encoder.layer.{}.weight"),
        checkpoint=layers(4, "encoder.layer.{}.weight"),
    ),
    Case(
        f"{_MODELS}.gpt2",
        "GPT2LMHeadModel",
        parameters=layers(4, "transformer.h.{}.weight"),
        checkpoint=layers(4, "h.{}.weight"),
    ),
    Case(
        f"{_MODELS}.gpt2",
        "GPT2Model",
        parameters=layers(4, "h.{}.attn.c_attn.weight", "h.{}.ln_1.weight"),
        checkpoint=layers(4, "h.{}.attn.c_attn.weight", "h.{}.ln_1.weight"),
        shapes={name: (ROWS, ROWS) for name in layers(4, "h.{}.attn.c_attn.weight")},
    ),
    Case(
        f"{_MODELS}.modernbert",
        "ModernBertModel",
        parameters=layers(4, "layers.{}.weight"),
        checkpoint=(*layers(4, "layers.{}.weight"), "unknown.weight"),
    ),
    Case(
        f"{_MODELS}.bloom",
        "BloomModel",
        parameters=layers(4, "h.{}.self_attention.query_key_value.weight"),
        checkpoint=layers(4, "h.{}.self_attention.query_key_value.weight"),
        config={"num_attention_heads": 2},
    ),
    Case(
        f"{_MODELS}.clip",
        "CLIPEmbeddingModel",
        parameters=layers(4, "text_model.layers.{}.weight"),
        checkpoint=(*layers(4, "text_model.layers.{}.weight"), "logit_scale"),
    ),
)

CASES = (*KEEPING, *CLEAN)
