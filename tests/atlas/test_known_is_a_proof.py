"""`known` is a proof: classes, unread keys, lists, causality, wrappers, and files that are derived from others."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.derived import Derived
from atlas.interpret import derive

LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "tie_word_embeddings": False,
}  # fmt: skip
QWEN3 = {**LLAMA, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 16}
# q and o 64 x 64, k and v 64 x 32, three matrices 64 x 128, two norms of 64
LAYER = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64
TABLE = 100 * 64


def row(config: dict[str, Any]) -> Any:
    """The fingerprint of a config."""
    return derive(config).fingerprint


def noted(d: Derived, field: str) -> str:
    """Where the value of a field comes from."""
    return next(e.source for e in d.evidence if e.field == field)


class TestClasses:
    """A family describes the classes on its list."""

    @pytest.mark.parametrize("cls", ["FooBarModel", "MedusaModel", "LlamaMoEForCausalLM", "BertModel"])
    def test_another_class_is_refused_whatever_its_name_ends_in(self, cls: str) -> None:
        """No ending of a name makes a class known."""
        found = row(LLAMA | {"architectures": [cls]})
        assert (found.verdict, found.refusal_kind) == ("refused", "unknown_class")
        assert cls in found.refusal_reason

    def test_a_class_of_the_repositorys_own_is_refused(self) -> None:
        """auto_map to a class that is not on the list means other code, also beside a listed class."""
        found = row(LLAMA | {"auto_map": {"AutoModelForCausalLM": "modeling_my.MyForCausalLM"}})
        assert (found.refusal_kind, "MyForCausalLM" in found.refusal_reason) == ("unknown_class", True)

    def test_published_and_library_classes_are_known(self) -> None:
        """A class of the library, one that came with published files, and a classifier beside them in auto_map."""
        classes = {"classifier": "modeling_my.MyForSequenceClassification", "same": "modeling_llama.LlamaForCausalLM"}
        maps = {"AutoModelForSequenceClassification": classes["classifier"], "AutoModelForCausalLM": classes["same"]}
        for more in ({"architectures": ["LLaMAForCausalLM"]}, {"architectures": ["LlamaModel"]}, {"auto_map": maps}):
            assert row(LLAMA | more).verdict == "known"

    def test_the_class_names_the_family_where_model_type_does_not(self) -> None:
        """Without model_type, or under a name of its own, a class of one family alone says which rules hold."""
        bare = {k: v for k, v in LLAMA.items() if k != "model_type"}
        for config in (bare, bare | {"model_type": "renamed"}):
            derived = derive(config)
            assert (derived.fingerprint.verdict, derived.fingerprint.params_total) == (
                "known",
                2 * (TABLE + LAYER) + 64,
            )
            assert "belongs to llama alone" in noted(derived, "family")


class TestDoubts:
    """Keys that nothing reads and nobody reviewed."""

    @pytest.mark.parametrize(
        "key", [{"num_loops": 4}, {"num_experts": 8}, {"new_blocks": [1]}, {"new_config": {"a": 1}}, {"new_gate": True}]
    )
    def test_a_number_list_object_or_true_leaves_the_answer_assumed(self, key: dict[str, Any]) -> None:
        """The numbers are those of the nearest rules, and the sentence names the key."""
        found = row(LLAMA | key)
        assert (found.verdict, found.params_total) == ("assumed", 2 * (TABLE + LAYER) + 64)
        assert next(iter(key)) in found.doubt

    @pytest.mark.parametrize("key", [{"new_name": "x"}, {"new_gate": False}, {"new_number": None}, {"num_experts": 0}])
    def test_what_is_named_or_off_lowers_nothing(self, key: dict[str, Any]) -> None:
        """A text, a false, a null, and none of a thing."""
        assert row(LLAMA | key).verdict == "known"

    def test_what_repeats_the_answer_lowers_nothing(self) -> None:
        """A head width that is the quotient anyway is no news in a class of quotients; another one is."""
        neox = {"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 4}
        verdicts = [row(neox | {"head_dim": n}).verdict for n in (16, 32)]
        assert verdicts == ["known", "assumed"]

    def test_heads_taken_out_are_a_contradiction(self) -> None:
        """A file that says which heads were pruned has narrower weights than its numbers say."""
        assert row({"model_type": "bert", "pruned_heads": {"0": [1]}}).refusal_kind == "contradiction"
        assert row({"model_type": "bert", "pruned_heads": {}}).verdict == "known"


class TestLists:
    """One entry per layer, in every family with the same words."""

    @pytest.mark.parametrize("config", [QWEN3, LLAMA, {"model_type": "gemma3_text", "num_hidden_layers": 2}])
    def test_another_length_is_a_contradiction(self, config: dict[str, Any]) -> None:
        """Three kinds for two layers, whether a window is on or the class reads no list at all."""
        found = row(config | {"layer_types": ["full_attention"] * 3})
        assert (found.refusal_kind, found.refusal_reason) == ("contradiction", "layer_types has 3 entries for 2 layers")

    def test_a_word_that_no_layer_answers_is_a_bad_value(self) -> None:
        """A word outside the vocabulary, and one that this class has no layer for, its window on or off."""
        for word in ("foo_attention", "linear_attention"):
            assert row(QWEN3 | {"layer_types": [word] * 2}).refusal_kind == "bad_value"


class TestCausality:
    """Attention that looks both ways keeps nothing."""

    def test_is_causal_false_makes_an_encoder_of_a_decoder(self) -> None:
        """The weights stay, the cache is null, and the evidence names the key."""
        causal, both = derive(QWEN3), derive(QWEN3 | {"is_causal": False})
        assert causal.fingerprint.params_total == both.fingerprint.params_total
        assert (causal.fingerprint.kv_bytes_per_token, both.fingerprint.kv_bytes_per_token) == (
            2 * 2 * 2 * 16 * 2,
            None,
        )
        assert (both.fingerprint.kind, causal.fingerprint.kind) == ("encoder", "causal_lm")
        assert noted(both, "attention_mask").startswith("is_causal is false")

    def test_a_switch_of_the_class_does_the_same(self) -> None:
        """use_bidirectional_attention of Gemma 3; under Llama, whose class does not read it, it is a doubt."""
        gemma = row({"model_type": "gemma3_text", "num_hidden_layers": 2, "use_bidirectional_attention": True})
        assert (gemma.kv_bytes_per_token, gemma.kind) == (None, "encoder")
        assert row(LLAMA | {"use_bidirectional_attention": True}).verdict == "assumed"


class TestWrappers:
    """Where the language model stands."""

    def test_it_is_found_wherever_published_files_nest_it(self) -> None:
        """text_config, two levels down, under another name, or at the top."""
        text = {k: v for k, v in QWEN3.items() if k != "architectures"}
        flat = {k: v for k, v in text.items() if k != "model_type"}
        nests = ({"text_config": text}, {"thinker_config": {"text_config": text}}, {"llm_config": text}, flat)
        totals = {row({"model_type": "qwen3_asr", **nest}).params_total for nest in nests}
        assert totals == {row(QWEN3 | {"tie_word_embeddings": True}).params_total, row(QWEN3).params_total} & totals
        assert None not in totals

    def test_absent_keys_take_what_the_wrappers_class_puts_there(self) -> None:
        """GLM-ASR merges its own defaults into the language model's config: 4 KV heads, where Llama has one a head."""
        found = row({"model_type": "glmasr", "text_config": {"model_type": "llama", "num_hidden_layers": 2}})
        assert (found.n_kv_heads, found.d_model, found.vocab_size) == (4, 2048, 59264)

    def test_a_shape_that_stands_inside_alone_is_a_contradiction(self) -> None:
        """A Llama whose numbers are all in text_config is no Llama of class defaults."""
        found = row({"model_type": "llama", "text_config": {"hidden_size": 64, "num_hidden_layers": 2}})
        assert (found.refusal_kind, "text_config" in found.refusal_reason) == ("contradiction", True)


class TestWindowsOfOthers:
    """A window that a class does not read."""

    @pytest.mark.parametrize(
        ("more", "verdict"),
        [
            ({}, "assumed"),
            ({"use_sliding_window": False}, "known"),
            ({"max_position_embeddings": 8}, "known"),
            ({"sliding_window": None}, "known"),
        ],
    )
    def test_it_bounds_the_library_s_caches_all_the_same(self, more: dict[str, Any], verdict: str) -> None:
        """Transformers 5.24 keeps 7 of 20 tokens for a Llama with a window of 8; switched off or unreached, all."""
        found = row(LLAMA | {"sliding_window": 8} | more)
        assert found.verdict == verdict
        assert found.kv_bytes_per_token == row(LLAMA).kv_bytes_per_token


class TestDerivedFiles:
    """Drafts, reward models, pruned blocks, upcycled experts and adapters."""

    def test_a_dflash_draft_is_what_it_stores(self) -> None:
        """Two layers with norms of queries and keys, a matrix over three taps, two norms; no embedding, no head."""
        found = row(QWEN3 | {"architectures": ["DFlashDraftModel"], "dflash_config": {"target_layer_ids": [1, 2, 3]}})
        assert (found.kind, found.params_total) == ("draft", 2 * (LAYER + 2 * 16) + 3 * 64 * 64 + 2 * 64)

    @pytest.mark.parametrize("with_rank", [False, True])
    def test_a_dspark_draft_reads_its_confidence_with_or_without_the_chain(self, with_rank: bool) -> None:  # noqa: FBT001
        """Two tables of 100 tokens by rank 8, and a confidence over 64 numbers, 72 with the chain's, and a bias."""
        own = {"target_layer_ids": [1], "markov_rank": 8, "enable_confidence_head": True}
        config = QWEN3 | {"architectures": ["DSparkDraftModel"], "num_hidden_layers": 1}
        found = row(config | {"dflash_config": own | {"confidence_head_with_markov": with_rank}})
        assert found.params_total == LAYER + 2 * 16 + 64 * 64 + 2 * 64 + 2 * 100 * 8 + 64 + 8 * with_rank + 1

    def test_a_domino_draft_has_a_gru(self) -> None:
        """A GRU of 8 over 64 wide embeddings, and two matrices of 16 to 100 tokens, beside one DFlash layer."""
        own = {"target_layer_ids": [1], "projector_type": "domino", "emb_dim": 16, "gru_hidden_dim": 8}
        config = QWEN3 | {"architectures": ["DominoDraftModel"], "num_hidden_layers": 1, "dflash_config": own}
        heads = 3 * 8 * 64 + 3 * 8 * 8 + 16 * (64 + 8) + 100 * 16
        assert row(config).params_total == LAYER + 2 * 16 + 64 * 64 + 2 * 64 + heads

    def test_a_peagle_draft_has_usual_layers_behind_the_first(self) -> None:
        """The first layer reads 128 elements, the second 64; a vector of 192 stands for states not yet known."""
        found = row(LLAMA | {"architectures": ["PEagleDraftModel"], "draft_vocab_size": 40})
        wider = 64 * 64 + 2 * 64 * 32 + 64
        ends = TABLE + 3 * 64 * 64 + 64 + 40 * 64 + 3 * 64
        assert (found.kind, found.params_total) == ("draft", 2 * LAYER + wider + ends)

    def test_an_eagle3_draft_is_told_by_its_vocabulary(self) -> None:
        """One layer reads token and state side by side, three taps are joined, the head is over 40 tokens."""
        found = row(LLAMA | {"num_hidden_layers": 1, "draft_vocab_size": 40})
        wider = 64 * 64 + 2 * 64 * 32 + 64  # q, k and v read 128 elements; a second norm before them
        assert (found.kind, found.params_total) == ("draft", TABLE + LAYER + wider + 3 * 64 * 64 + 64 + 40 * 64)
        assert row(LLAMA | {"draft_vocab_size": 40}).refusal_kind == "not_derivable"

    def test_an_eagle3_draft_may_norm_each_state(self) -> None:
        """Three norms of 64 before the matrix (EAGLE-3.1); which state goes on is no weight."""
        plain = LLAMA | {"num_hidden_layers": 1, "draft_vocab_size": 40}
        found = row(plain | {"fc_norm": True, "norm_output": True})
        assert (found.verdict, found.params_total) == ("known", row(plain).params_total + 3 * 64)

    @pytest.mark.parametrize("model_type", [None, "eagle3", "phi3"])
    def test_a_draft_s_class_says_whose_layers_it_has(self, model_type: str | None) -> None:
        """SpecForge chooses by `architectures` alone; a class default is taken from no other family's model_type."""
        draft = LLAMA | {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 40}
        same = {k: v for k, v in draft.items() if k != "model_type"} | (
            {"model_type": model_type} if model_type else {}
        )
        found = derive(same)
        assert (found.fingerprint.verdict, found.fingerprint.params_total) == ("known", row(draft).params_total)
        assert "whatever model_type it states" in noted(found, "family")
        short = {k: v for k, v in same.items() if k != "num_key_value_heads"}
        assert row(short).verdict == "refused"
        of_another = same | {"model_type": "gpt_oss"}  # whose class has a width of heads of its own
        assert [row(of_another | n).verdict for n in ({}, {"head_dim": 16})] == ["refused", "known"]

    def test_a_dspark_draft_s_settings_may_stand_beside_its_taps(self) -> None:
        """In a table of their own, which goes before the other; equal heads are stated as mha."""
        taps = {"target_layer_ids": [1]}
        own = {"markov_rank": 8, "markov_head_type": "vanilla"}
        config = QWEN3 | {"architectures": ["DSparkDraftModel"], "num_hidden_layers": 1}
        together = row(config | {"dflash_config": taps | own})
        apart = row(config | {"dflash_config": taps | {"markov_rank": 4}, "dspark_config": own})
        assert (apart.verdict, apart.params_total) == ("known", together.params_total)
        assert (
            row(config | {"dflash_config": taps | own, "dspark_config": {"steps": 2}}).refusal_kind == "not_derivable"
        )
        mha = {"dflash_config": taps | own | {"attention_mode": "mha"}}
        assert row(config | mha).refusal_kind == "not_derivable"
        assert row(config | mha | {"num_key_value_heads": 4}).verdict == "known"

    @pytest.mark.parametrize(("cls", "outputs"), [("Qwen2ForProcessRewardModel", 2), ("Qwen2ForRewardModel", 1)])
    def test_a_reward_head_has_two_layers(self, cls: str, outputs: int) -> None:
        """A square matrix and one to the outputs, both with a bias, in place of the head; Qwen2 has biases."""
        found = row(LLAMA | {"model_type": "qwen2", "architectures": [cls]})
        head = 64 * 64 + 64 + outputs * 64 + outputs
        assert (found.kind, found.params_total) == ("reward", TABLE + 2 * (LAYER + 64 + 2 * 32) + 64 + head)

    def test_blocks_say_what_stands_in_them(self) -> None:
        """One block without attention, one with half the KV heads and a narrower network."""
        blocks = [
            {"attention": {"no_op": True}, "ffn": {"no_op": False, "intermediate_size": 128}},
            {"attention": {"no_op": False, "num_key_value_heads": 1}, "ffn": {"intermediate_size": 32}},
        ]
        more = {"architectures": ["AnyModel"], "base_architecture": "LlamaForCausalLM", "block_configs": blocks}
        first, second = 3 * 64 * 128 + 64, 2 * 64 * 64 + 2 * 64 * 16 + 3 * 64 * 32 + 2 * 64
        found = row(LLAMA | more)
        assert (found.params_total, found.kv_bytes_per_token) == (2 * TABLE + 64 + first + second, 2 * 16 * 2)

    def test_upcycled_experts_are_counted(self) -> None:
        """Two networks and a gate without bias in every layer."""
        more = {"model_type": "qwen2", "architectures": ["Qwen2MoEForCausalLM"], "num_local_experts": 2}
        found = row(LLAMA | more | {"num_experts_per_tok": 2})
        layer = LAYER + 64 + 2 * 32 + 3 * 64 * 128 + 2 * 64
        assert (found.is_moe, found.params_total) == (True, 2 * (TABLE + layer) + 64)

    def test_an_adapter_is_named_as_one(self) -> None:
        """It has no architecture; its base model is in the reason."""
        found = row({"peft_type": "LORA", "r": 16, "base_model_name_or_path": "meta-llama/Llama-3.1-8B"})
        assert (found.kind, found.refusal_kind) == ("adapter", "adapter")
        assert "meta-llama/Llama-3.1-8B" in found.refusal_reason


def test_kinds_of_usual_classes() -> None:
    """A headless decoder, a classifier, an encoder and a pair."""
    kinds = {
        "headless": LLAMA | {"architectures": ["LlamaModel"]},
        "classifier": LLAMA | {"architectures": ["LlamaForSequenceClassification"]},
        "encoder": {"model_type": "bert", "architectures": ["BertForMaskedLM"]},
        "encoder_decoder": {"model_type": "t5"},
    }
    assert {kind: row(config).kind for kind, config in kinds.items()} == {kind: kind for kind in kinds}


def test_constants_stand_apart_from_the_design() -> None:
    """Another epsilon is the same design and another constant; an absent one is the class's."""
    small, large, absent = (derive(LLAMA | more) for more in ({"rms_norm_eps": 1e-5}, {"rms_norm_eps": 0.1}, {}))
    epsilons = [{e.field: e.value for e in d.constants}["norm_epsilon"] for d in (small, large, absent)]
    assert epsilons == [1e-5, 0.1, 1e-6]
    assert small.fingerprint.design_id == large.fingerprint.design_id
