"""The rules of vLLM's cache as rows: what it does, where that was read, at which version, and whether logs agree."""

from __future__ import annotations

from pipeline.engines.record import Input, Rule

_UTILS = "vllm/v1/core/kv_cache_utils.py"
_SPECS = "vllm/v1/kv_cache_interface.py"
_MAMBA = "vllm/model_executor/layers/mamba/mamba_utils.py"
_CONFIG = "vllm/model_executor/models/config.py"
_READ = "0.8.5 to 0.33.0"

RULES: tuple[Rule, ...] = (
    Rule("heads", "KV heads of a rank are max(1, heads // TP); a latent stands whole on every rank.",
         "vllm/config/model.py get_num_kv_heads", _READ, "logs"),
    Rule("page", "A layer's page is block x heads of the rank x (K + V width) x bytes; fp8 is one byte, no scales.",
         _SPECS, _READ, "logs"),
    Rule("page scales", "int8 and fp8 per token and head add 4 bytes for each of K and V; nvfp4 is 9/16 byte.",
         _SPECS, "0.24.0", "unproven"),
    Rule("indexer", "An indexer is a layer of its own: its width and 4 bytes per 128, in single bytes.",
         "vllm/model_executor/models/deepseek_v2.py", "0.33.0", "unproven"),
    Rule("fp8_ds_mla", "A sparse latent at fp8 takes 656 bytes a token and layer; in 0.11 DeepSeek-V3.2 at auto too."
         " From 0.18 on the FlashMLA backend alone does so.",
         f"{_CONFIG} (0.11, 0.12), vllm/model_executor/layers/attention/mla_attention.py (0.18 on)",
         "0.11.0, 0.12.0, 0.18.0, 0.24.0, 0.33.0", "unproven"),
    Rule("one kind", "Layers of one kind: blocks = available // sum of pages; different widths from 0.11 on.",
         _UTILS, _READ, "logs"),
    Rule("groups", "Mixed kinds from 0.9: groups of as many layers as the rarest kind has, the last padded.",
         _UTILS, "0.9.2", "logs"),
    Rule("group factor", "Groups are as large as the commonest kind has layers, below 1.25 (0.12) or 1.5 (0.18) times.",
         _UTILS, "0.12.0, 0.18.0", "planner"),
    Rule("windows before 0.9", "Up to 0.8.5 windowed layers are kept as full ones.", _UTILS, "0.8.5", "logs"),
    Rule("hybrid manager off", "Windowed layers beside full ones are kept as full ones.", _UTILS, _READ, "unproven"),
    Rule("chunked layers", "With chunked layers the hybrid manager is off unless the environment asks for it.",
         "vllm/config/vllm.py VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE; 0.9.2 has none",
         "0.10.2 to 0.33.0", "unproven"),
    Rule("windows held", "A layer keeps the window of its class; else the config's, where all layers have it.",
         "vllm/engine/arg_utils.py, vllm/model_executor/layers/attention/attention.py", "0.24.0, 0.33.0", "logs"),
    Rule("smaller pages", "A kind with a smaller page gets a larger block, so that all pages are equal (0.12 on).",
         _UTILS, "0.11.0, 0.12.0, 0.24.0", "logs"),
    Rule("padded pages", "From 0.24 a smaller page of attention that is no divisor is padded; before it is refused.",
         f"{_UTILS}; 0.33 kv_cache_planning.py", "0.20.1, 0.24.0, 0.33.0", "planner"),
    Rule("cache size", '"GPU KV cache size" is blocks // groups x smallest block up to 0.20.0.',
         _UTILS, "0.20.0", "logs"),
    Rule("cache size from 0.20.1", '"GPU KV cache size" is concurrency x max_model_len from 0.20.1 on.',
         _UTILS, "0.20.1", "logs"),
    Rule("request", "Concurrency is blocks / blocks of one request: full cdiv(L, block), windowed"
         " cdiv(min(w - 1 + F, L), block) + 1, recurrent 1 (none) or 2 (align).", _SPECS, _READ, "logs"),
    Rule("request, chunked", "A chunked layer takes cdiv(min(chunk + F, L), block).", _SPECS, "0.24.0", "unproven"),
    Rule("request, all", "In mode all a recurrent layer takes cdiv(L, block); 0.33 has no such mode.",
         _SPECS, "0.18.0, 0.24.0, 0.33.0", "unproven"),
    Rule("prefill checkpoints", "In mode align 0.33 keeps one more state where the kernel exports it: Mamba-2 always.",
         "vllm/model_executor/layers/mamba/mamba_mixer2.py, gdn/qwen_gdn_linear_attn.py; 0.27.1 has none",
         "0.27.1, 0.33.0", "unproven"),
    Rule("batches", "From 0.26 F counts once for each concurrent batch (2 with asynchronous scheduling).",
         "vllm/config/vllm.py max_in_flight_tokens; 0.24.0 has none", "0.26.0", "logs"),
    Rule("state page", "A recurrent page is channels / TP x (kernel - 1 + drafted) x bytes of the model's type and"
         " state / TP x bytes of the state's.", _MAMBA, _READ, "logs"),
    Rule("drafted columns", "Columns of drafted tokens: Gated DeltaNet, Mamba-2 from 0.18, KDA from 0.27, short"
         " convolutions from 0.33.", _MAMBA, "0.11.0 to 0.33.0", "unproven"),
    Rule("state type", "The state is of the model's type; Qwen3.5 reads mamba_ssm_dtype, KDA keeps float32, Nemotron-H"
         " reads mamba_ssm_cache_dtype from 0.14 on (float16 where absent; float32 from 0.20.1).",
         _CONFIG, "0.12.0, 0.14.1, 0.18.0, 0.20.1, 0.24.0, 0.33.0", "logs"),
    Rule("groups of B and C", "Mamba-2 groups are repeated so that TP divides them.", _MAMBA, "0.24.0", "unproven"),
    Rule("hybrid block", "With recurrent layers the attention block is 16 (MLA 64, from 0.27 on 128) x cdiv(recurrent"
         " page, 16 x bytes a token); the recurrent page is padded to it.",
         f"{_CONFIG}; from 0.20 on vllm/platforms/interface.py", "0.11.0 to 0.33.0", "logs"),
    Rule("drafts", "A drafter's layers are further layers of their kind.", _UTILS, _READ, "logs"),
    Rule("shared", "A layer that reads another's cache has no page; encoders have none.", _SPECS, _READ, "unproven"),
    Rule("stages", "Groups are made of the whole model's layers, each stage holds its own of every group, and the stage"
         " with the fewest blocks decides; layers that do not divide go before the last stage, from the back.",
         f"{_UTILS} get_kv_cache_configs, vllm/distributed/utils.py get_pp_indices", "0.11.0, 0.33.0", "planner"),
    Rule("context parallel", "With context parallelism a rank holds its share of the tokens.",
         _SPECS, "0.24.0", "unproven"),
)  # fmt: skip

INPUTS: tuple[Input, ...] = (
    Input("available_gib", '"Available KV cache memory" of the log, GiB; only profiling knows it'),
    Input("tokens", "tokens wanted, where the memory for them is asked and not the reverse"),
    Input("max_model_len", "tokens of the longest request"),
    Input("tp", "tensor-parallel ranks", 1, "tensor_parallel_size"),
    Input("pp", "pipeline stages", 1, "pipeline_parallel_size"),
    Input("ep", "ranks that share the experts; no part in the cache", 1, "no expert parallelism"),
    Input("kv", "type of the cache", "auto", "kv_cache_dtype: the model's type"),
    Input("hybrid", "0 where the hybrid cache manager is off", None, "on, but for chunked layers from 0.10 on"),
    Input("block", "tokens of a block", None, "16, MLA 64: the attention backend's choice"),
    Input("F", "max_num_batched_tokens; needed where layers are windowed"),
    Input("batches", "batches in flight (2 with asynchronous scheduling); needed for windows from 0.26"),
    Input("mode", "prefix caching of recurrent layers: none, align or all; needed where layers are recurrent"),
    Input("ssm", "bytes of a recurrent state's element", None, "the family's rule"),
    Input("chunk", "tokens of the kernel's chunk; needed in mode all"),
    Input("draft_full", "layers of a drafter with full attention of the model's own widths", 0, "no drafter"),
    Input("mtp", "1 where the model's own draft layers run", 0, "no drafter"),
    Input("speculative", "tokens drafted ahead", 0, "no drafter"),
    Input("checkpoint", "1 where the kernel keeps a prefill checkpoint in mode align", None, "by version and kernel"),
    Input("cp", "ranks of context parallelism", 1, "decode_context_parallel_size"),
)
