"""Values that take effect where a config states another: switches, nulls and keys that the class reads in its own way.

The lines named are of transformers 5.24, whose own modules gave every total here on the meta device.
"""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.tabulate import layers_expanded


def row(model_type: str, **stated: Any) -> Fingerprint:
    """The fingerprint of a config of this model_type that states these keys alone."""
    found = derive({"model_type": model_type, **stated}).fingerprint
    assert found.verdict == "known", found.refusal_reason
    return found


def refusal(model_type: str, **stated: Any) -> str:
    """Why such a config gives no numbers."""
    found = derive({"model_type": model_type, **stated}).fingerprint
    assert found.verdict == "refused", found.params_total
    assert found.refusal_reason is not None
    return found.refusal_reason


def test_a_window_that_looks_both_ways_lies_half_behind_the_token() -> None:
    """configuration_gemma3.py, __post_init__: sliding_window // 2 + 1 where use_bidirectional_attention is true."""
    assert row("gemma3_text", sliding_window=512, use_bidirectional_attention=True).sliding_window == 512 // 2 + 1
    assert row("gemma3_text", sliding_window=512, use_bidirectional_attention=False).sliding_window == 512


def test_a_null_switch_of_query_and_key_norms_is_off() -> None:
    """modeling_cohere.py: `if self.use_qk_norm`; a null makes no norms (64 + 64 heads of 128 in a layer)."""
    assert row("cohere", use_qk_norm=None).params_attention == 40 * 4 * 8192 * 8192
    assert row("cohere", use_qk_norm=True).params_attention == 40 * (4 * 8192 * 8192 + (64 + 64) * 128)


def test_the_gate_of_a_shared_expert_stands_beside_a_width_of_zero() -> None:
    """modeling_qwen2_moe.py, Qwen2MoeSparseMoeBlock: shared_expert_gate is made whatever the shared width is."""
    none = row("qwen2_moe", shared_expert_intermediate_size=0, num_hidden_layers=2)
    assert none.params_experts_shared == 0
    assert none.params_router == 2 * (60 * 2048 + 2048)


def test_heads_of_a_classifier_stand_on_the_narrow_width() -> None:
    """modeling_opt.py: `score` and `qa_outputs` of its two classifiers take word_embed_proj_dim."""
    narrow = {"hidden_size": 1024, "num_attention_heads": 16, "word_embed_proj_dim": 512, "num_labels": 3}
    assert row("opt", architectures=["OPTForSequenceClassification"], **narrow).params_other == 3 * 512
    assert row("opt", architectures=["OPTForQuestionAnswering"], **narrow).params_other == 2 * 512 + 2


def test_a_number_of_labels_goes_before_their_table() -> None:
    """configuration_utils.py: num_labels is set last, and its setter writes a new table where the two differ."""
    table = {"0": "a", "1": "b", "2": "c"}
    named: dict[str, Any] = {"architectures": ["LlamaForSequenceClassification"], "id2label": table}
    assert row("llama", num_labels=5, **named).params_other == 5 * 4096
    assert row("llama", **named).params_other == 3 * 4096


def test_an_expansion_that_only_the_remote_code_reads_is_refused() -> None:
    """modeling_mpt.py, MptMLP: 4 x hidden_size whatever expansion_ratio says; the checkpoints' own code reads it."""
    assert "expansion_ratio" in refusal("mpt", expansion_ratio=3)
    assert row("mpt", expansion_ratio=4, n_layers=1).params_ffn_dense == 2 * 2048 * 8192


def test_layers_that_look_at_an_unknown_encoder_are_refused() -> None:
    """modeling_gpt2.py, GPT2Block: add_cross_attention true adds a second attention in every layer."""
    assert "add_cross_attention" in refusal("gpt2", add_cross_attention=True)
    assert row("gpt2", add_cross_attention=False).params_total == 124_439_808


def test_an_activation_without_weights_takes_the_learned_one_s_weights_away() -> None:
    """modeling_apertus.py, ApertusMLP: ACT2FN[hidden_act]; only xielu has two learned numbers."""
    for activation, learned in (("xielu", 2), ("relu", 0)):
        found = row("apertus", hidden_act=activation, num_hidden_layers=3)
        assert found.params_ffn_dense == 3 * (2 * 4096 * 14336 + learned)


def test_biases_of_networks_reach_the_shared_experts() -> None:
    """modeling_deepseek_v2.py, DeepseekV2MLP: mlp_bias on gate, up and down; a dense layer, and one with two shared."""
    stated: dict[str, Any] = {
        "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 2,
        "first_k_dense_replace": 1, "num_experts_per_tok": 6, "n_shared_experts": 2,
    }  # fmt: skip
    found = row("deepseek_v2", mlp_bias=True, **stated)
    assert found.params_ffn_dense == 3 * 2048 * 10944 + 2 * 10944 + 2048
    assert found.params_experts_shared == 3 * 2048 * 2816 + 2 * 2816 + 2048
    assert row("deepseek_v2", mlp_bias=False, **stated).params_experts_shared == 3 * 2048 * 2816


@pytest.mark.parametrize(
    ("model_type", "usual", "own"),
    [
        ("bart", {"hidden_size": 512}, {"d_model": 512}),
        ("blenderbot-small", {"hidden_size": 256}, {"d_model": 256}),
        ("dbrx", {"num_hidden_layers": 3, "hidden_size": 1024}, {"n_layers": 3, "d_model": 1024}),
        ("distilbert", {"num_hidden_layers": 3, "hidden_size": 384}, {"n_layers": 3, "dim": 384}),
        ("xglm", {"num_hidden_layers": 3, "hidden_size": 512}, {"num_layers": 3, "d_model": 512}),
        ("t5", {"num_hidden_layers": 3, "head_dim": 32}, {"num_layers": 3, "d_kv": 32}),
        ("zamba", {"head_dim": 128}, {"attention_head_dim": 128}),
        ("recurrent_gemma", {"sliding_window": 512}, {"attention_window_size": 512}),
    ],
)
def test_both_spellings_of_a_key_say_the_same(model_type: str, usual: dict[str, int], own: dict[str, int]) -> None:
    """The class's attribute_map lets the usual name stand for its own: a config may hold either."""
    assert row(model_type, **usual) == row(model_type, **own) != row(model_type)


@pytest.mark.parametrize("model_type", ["kimi_linear", "nemotron_h", "inkling_text", "bailing_hybrid", "rembert"])
def test_a_class_that_ties_nothing_keeps_its_head(model_type: str) -> None:
    """Their causal classes list no _tied_weights_keys (modeling_kimi_linear.py: `{}`), so the switch has no effect."""
    stated, absent = row(model_type, tie_word_embeddings=True), row(model_type)
    assert stated.tie_word_embeddings is False
    assert stated.params_total == absent.params_total


def test_a_text_model_without_a_class_of_its_own_with_a_head_has_none_when_it_stands_alone() -> None:
    """No causal class takes qwen2_vl_text: the base model is built; nested, it has a head."""
    alone = row("qwen2_vl_text", num_hidden_layers=1)
    nested = row("qwen2_vl", text_config={"model_type": "qwen2_vl_text", "num_hidden_layers": 1})
    assert alone.params_unembedding == 0
    assert nested.params_unembedding == nested.params_embedding


def test_shared_experts_have_the_biases_of_networks() -> None:
    """modeling_nemotron_h.py and modeling_hy_v3.py: the shared network takes mlp_bias, the routed experts have none."""
    layers = {"layers_block_type": ["moe"], "moe_shared_expert_intermediate_size": 3712, "hidden_size": 2688}
    biased = row("nemotron_h", mlp_bias=True, **layers)
    assert biased.params_experts_shared == 2 * 2688 * 3712 + 3712 + 2688
    latent = row("nemotron_h", mlp_bias=True, moe_latent_size=1024, **layers)
    assert latent.params_other == 2 * 2688 * 1024 + 1024 + 2688
    shared = row("hy_v3", mlp_bias=True, num_hidden_layers=2).params_experts_shared
    assert shared == 3 * 4096 * 1536 + 2 * 1536 + 4096


def test_a_shared_width_is_that_of_each_shared_expert() -> None:
    """modeling_dots3_note.py: shared_experts_intermediate_size * n_shared_experts."""
    found = row("dots3_note_text", n_shared_experts=2, num_hidden_layers=2)
    assert found.params_experts_shared == 3 * 5120 * 2 * 1536


def test_no_shared_expert_is_refused_where_the_class_builds_another() -> None:
    """HYV3MLP takes the dense width for a shared width of 0; NemotronHMoE builds its shared expert unasked."""
    assert "shared" in refusal("hy_v3", num_shared_experts=0)
    assert "shared" in refusal("nemotron_h", n_shared_experts=0)
    assert "shared" in refusal("nemotron_h", moe_shared_expert_intermediate_size=0)


@pytest.mark.parametrize(
    "key", ["swa_head_dim", "swa_v_head_dim", "swa_num_attention_heads", "swa_num_key_value_heads"]
)
def test_shapes_that_only_remote_code_reads_are_refused(key: str) -> None:
    """modeling_mimo_v2_flash.py, MiMoV2FlashAttention: windowed layers differ by twice the KV heads alone."""
    assert key in refusal("mimo_v2_flash", **{key: 32})


@pytest.mark.parametrize(
    ("model_type", "theta", "scaling", "factor"),
    [
        ("apertus", 12e6, "llama3", 8.0),
        ("cwm", 1e6, "llama3", 16.0),
        ("ministral3", 1e6, "yarn", 16.0),
        ("dory", 1e7, None, None),
        ("hy_v3", 11_158_840.0, None, None),
        ("longcat_flash", 1e7, None, None),
        ("minimax_m2", 5e6, None, None),
        ("dots3_note_text", 8e7, None, None),
        ("dbrx", 1e4, None, None),
    ],
)
def test_the_class_s_own_rope_holds_where_none_is_stated(
    model_type: str, theta: float, scaling: str | None, factor: float | None
) -> None:
    """Each configuration class writes a table or a base of its own (default_theta, or __post_init__)."""
    found = row(model_type)
    assert (found.rope_theta, found.rope_scaling, found.rope_factor) == (theta, scaling, factor)


def test_an_embedding_of_another_width_is_a_contradiction() -> None:
    """modeling_xlstm.py: the table takes embedding_dim, the blocks take hidden_size (4,096 where it is absent)."""
    assert "embedding_dim" in refusal("xlstm", embedding_dim=1024)


def test_hybrid_layers_numbered_otherwise_than_named_are_a_contradiction() -> None:
    """modeling_zamba2.py counts adapters by hybrid_layer_ids, which a config may state beside the list of words."""
    words = ["mamba", "hybrid", "mamba"]
    row("zamba2", num_hidden_layers=3, layers_block_type=words, hybrid_layer_ids=[1])
    assert "hybrid_layer_ids" in refusal(
        "zamba2", num_hidden_layers=3, layers_block_type=words, hybrid_layer_ids=[1, 2]
    )


def test_windowed_layers_without_a_window_in_use_are_a_contradiction() -> None:
    """modeling_smollm3.py takes the mask and the cache by layer_types, the attention's own window by the switch."""
    kinds = ["full_attention", "sliding_attention"]
    stated: dict[str, Any] = {"num_hidden_layers": 2, "layer_types": kinds, "sliding_window": 64}
    assert "use_sliding_window" in refusal("smollm3", use_sliding_window=False, **stated)
    assert row("smollm3", use_sliding_window=True, **stated).sliding_window == 64


@pytest.mark.parametrize(
    ("wrapper", "text", "words", "tied"),
    [
        ("gemma3", "gemma3_text", (False, True), False),  # the wrapper's class holds the head and asks its own config
        ("llama4", "llama4_text", (True, False), False),  # the head is Llama4ForCausalLM's, which asks the inner one
        ("llama4", "llama4_text", (False, True), True),
        ("qwen2_audio", "qwen2", (True, True), False),  # no _tied_weights_keys in the wrapper's class
        ("mllama", "mllama_text_model", (True, True), False),
        ("minimax_m3_vl", "minimax_m3_vl_text", (False, True), True),  # its configuration lifts the inner word
    ],
)
def test_which_of_two_words_ties_the_head(wrapper: str, text: str, words: tuple[bool, bool], *, tied: bool) -> None:
    """Measured on each class: whose tie_word_embeddings, the outer or the inner, makes the head the token table."""
    config = {"model_type": text, "tie_word_embeddings": words[1]}
    found = row(wrapper, text_config=config, tie_word_embeddings=words[0])
    assert found.tie_word_embeddings is tied
    assert (found.params_unembedding == 0) is tied


def test_words_of_layers_stand_under_either_key() -> None:
    """The attribute_map of these classes lets one key stand for the other; where both are stated, the alias holds."""
    assert row("nemotron_h", layer_types=["mlp", "mamba"]).n_layers == 2
    stated: dict[str, Any] = {"num_hidden_layers": 2, "layer_types": ["attention"] * 2, "num_local_experts": 0}
    both = row("granitemoehybrid", layers_block_type=["mamba", "attention"], **stated)
    assert both.layer_mix == {"ssm": 1, "full_attention": 1}


def test_a_convolution_s_bias_that_no_switch_takes_away() -> None:
    """modeling_zamba2.py, Zamba2MambaMixer: conv1d has bias=True, use_conv_bias is kept and not asked."""
    on, off = row("zamba2", use_conv_bias=True), row("zamba2", use_conv_bias=False)
    assert on.params_recurrent == off.params_recurrent


def test_a_stated_list_goes_before_alternating_windows() -> None:
    """configuration_qwen2_moe.py, __post_init__: layer_types where stated, else every even layer below the bound."""
    stated: dict[str, Any] = {"use_sliding_window": True, "sliding_window": 64, "num_hidden_layers": 4}
    assert row("qwen2_moe", max_window_layers=3, **stated).layer_mix == {"sliding_attention": 2, "full_attention": 2}
    words = ["full_attention"] * 3 + ["sliding_attention"]
    found = row("qwen2_moe", max_window_layers=3, layer_types=words, **stated)
    assert found.layer_mix == {"full_attention": 3, "sliding_attention": 1}


def test_the_width_of_a_head_has_a_second_name_in_nemotron_h() -> None:
    """The row reads attention_head_dim where head_dim, the name in transformers 5.24, is not stated."""
    assert row("nemotron_h", attention_head_dim=64).head_dim == 64
    assert row("nemotron_h", head_dim=64).head_dim == 64


def test_a_decoder_alone_reads_past_the_encoder_s_keys() -> None:
    """BartForCausalLM builds no encoder: what its file states of one is nothing that nobody understood."""
    stated: dict[str, Any] = {"encoder_layers": 6, "encoder_ffn_dim": 512, "encoder_attention_heads": 8}
    found = derive({"model_type": "bart", "architectures": ["BartForCausalLM"], **stated})
    assert found.unread == ()
    assert found.fingerprint.verdict == "known"


def test_letters_decide_the_depth_and_a_depth_alone_does_not() -> None:
    """configuration_nemotron_h.py: the pattern gives the layers; without one the class has four and no other depth."""
    assert row("nemotron_h", hybrid_override_pattern="M*-", num_hidden_layers=52).n_layers == 3
    assert "no pattern says" in refusal("nemotron_h", num_hidden_layers=52)


def test_leading_dense_layers_have_a_window_pattern_of_their_own() -> None:
    """modeling_cohere2_moe.py: of each pattern the last is full; full leading layers rotate only where theirs is 1."""

    def kinds(prefix: int) -> list[tuple[str, str | None]]:
        stated: dict[str, Any] = {"first_k_dense_replace": 2, "prefix_dense_intermediate_size": 256}
        stated |= {"prefix_dense_sliding_window_pattern": prefix, "sliding_window_pattern": 4, "num_hidden_layers": 6}
        model = derive({"model_type": "cohere2_moe", **stated}).model
        assert model is not None
        return [(layer.mixer, layer.position) for layer in layers_expanded(model)]

    window, full = ("sliding_attention", "rope"), ("full_attention", "nope")
    assert kinds(1) == [("full_attention", "rope")] * 2 + [window] * 3 + [full]
    assert kinds(2) == [window, full] + [window] * 3 + [full]


@pytest.mark.parametrize(
    ("key", "kind"),
    [("compress_rate_csa", "compressed_sparse_attention"), ("compress_rate_hca", "heavily_compressed_attention")],
)
def test_an_older_key_of_a_rate_says_what_the_table_says(key: str, kind: str) -> None:
    """DeepSeek-V4: files older than the table of rates state each under its own key (configuration_deepseek_v4.py)."""
    bare, old, new = (
        derive({"model_type": "deepseek_v4"} | more).fingerprint
        for more in ({}, {key: 16}, {"compress_rates": {kind: 16}})
    )
    assert old.design_id == new.design_id != bare.design_id
