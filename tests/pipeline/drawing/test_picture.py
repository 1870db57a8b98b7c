"""Drawings say what the structure says: counted against published figures, the same bytes, never a guess."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import guide
import msgspec
import pytest

from atlas.interpret import derive
from atlas.numbers.structure import layer
from pipeline.cli import main
from pipeline.drawing import formula, legend, picture
from pipeline.sources import catalogue

ARCTIC = {
    "model_type": "arctic", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
    "num_key_value_heads": 2, "intermediate_size": 96, "num_local_experts": 8, "num_experts_per_tok": 2,
    "moe_layer_frequency": 1, "use_residual": True, "tie_word_embeddings": False, "hidden_act": "silu",
}  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"


@cache
def configs() -> dict[str, bytes]:
    """The catalogue's configs."""
    return {e.repo: e.raw for e in catalogue.load()}


@cache
def drawn(repo: str) -> str:
    """The drawing of a model of the catalogue."""
    made = picture.draw(derive(configs()[repo], name=repo), repo)
    assert made is not None
    return made


def texts(repo: str) -> list[str]:
    """Every line of text of a drawing, from the head downwards."""
    return ["".join(t.itertext()) for t in ET.fromstring(drawn(repo)).iter(f"{SVG}text")]


def test_every_design_of_the_catalogue_is_drawn_well_formed_and_small() -> None:
    """At most 448 units wide, below 100 kB, with title and words, without an id, script or link; none if refused."""
    every = ((repo, derive(raw, name=repo)) for repo, raw in configs().items())
    designs = {d.fingerprint.design_id or repo: (repo, d) for repo, d in every}
    assert len(designs) > 250
    for repo, derived in designs.values():
        made = picture.draw(derived, repo)
        assert (made is None) == (derived.model is None), repo
        if made is None:
            continue
        root = ET.fromstring(made)
        assert (root.get("viewBox") or "").startswith("0 0 448 ")
        assert len(made) < 100_000, repo
        assert root.findtext(f"{SVG}title"), repo
        assert root.findtext(f"{SVG}desc"), repo
        assert not re.search(r"\bid=|<script|href|url\(", made)
        lines = ["".join(t.itertext()).replace(repo.rpartition("/")[2], "") for t in root.iter(f"{SVG}text")]
        assert [t for t in lines if re.search(r"[{}]|\b[a-z]\w*_\w|\w\.[a-z]", t)] == [], repo  # names of tensors


def test_a_drawing_is_the_same_every_time() -> None:
    """Same structure, same bytes."""
    repo = "google/gemma-3-27b-it"
    assert picture.draw(derive(configs()[repo], name=repo), repo) == drawn(repo)


@pytest.mark.parametrize(
    ("repo", "formula"),
    [
        ("deepseek-ai/DeepSeek-V3", "61 layers = 3 A · 58 B"),  # first_k_dense_replace 3 of 61
        ("google/gemma-3-27b-it", "62 layers = 10 × (5 A, B) · 2 A"),  # five windowed to one full, 62 layers
        ("openai/gpt-oss-120b", "36 layers = 18 × (A, B)"),  # windowed and full in turn
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "48 layers = 12 × (3 A, B)"),  # every fourth full
        ("meta-llama/Llama-3.1-8B", "32 layers"),
    ],
)
def test_the_stack_is_said_as_its_runs(repo: str, formula: str) -> None:
    """The formula of published layer plans."""
    assert formula in [t.replace("\xa0", " ") for t in texts(repo)]


@pytest.mark.parametrize(
    ("repo", "said"),
    [
        ("deepseek-ai/DeepSeek-V3", ["Experts, 8 of 256 + 1 shared", "Latent attention (MLA)", "Draft × 1"]),
        ("deepseek-ai/DeepSeek-V3.2", ["Sparse latent attention"]),
        ("tiiuae/Falcon-H1-0.5B-Base", ["Grouped-query attention", "Mamba-2"]),
        ("openai/whisper-large-v3-turbo", ["Cross-attention", "Encoder", "Decoder", "Source"]),
        ("google-bert/bert-base-uncased", ["Multi-head attention"]),
    ],
)
def test_parts_have_their_names(repo: str, said: list[str]) -> None:
    """Each part is titled by what it is."""
    assert set(said) <= set(texts(repo))


def norms(repo: str) -> int:
    """Norms drawn in frames and at the ends."""
    return sum(t in ("RMSNorm", "LayerNorm") for t in texts(repo))


@pytest.mark.parametrize(
    ("repo", "n"),
    [
        ("meta-llama/Llama-3.1-8B", 3),  # before attention, before the network, last
        ("google/gemma-3-27b-it", 2 * 4 + 1),  # before and behind both, in two kinds of layers, last
        ("allenai/OLMo-2-1124-7B", 3),  # behind both, last
        ("tiiuae/falcon-7b", 2),  # one for both side by side, last
        ("google-bert/bert-base-uncased", 3),  # behind both sums, behind the embedding
    ],
)
def test_norms_are_drawn_where_the_structure_has_them(repo: str, n: int) -> None:
    """Counted by hand from the layer's code in transformers: each norm of a distinct layer once."""
    assert norms(repo) == n


def said(made: str) -> str:
    """All text of a drawing in one line: its boxes wrap it."""
    lines = ("".join(t.itertext()) for t in ET.fromstring(made).iter(f"{SVG}text"))
    return " ".join(lines).replace("\xa0", " ")


NEMOTRON, KIMI = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "moonshotai/Kimi-Linear-48B-A3B-Instruct"


@pytest.mark.parametrize(
    ("repo", "words"),
    [
        ("bigscience/bloom", ["No head: this class gives hidden states", "no context stated"]),  # class BloomModel
        ("BAAI/bge-large-en", ["No head: hidden states, and a pooled one"]),  # BertModel with its pooler
        ("CohereForAI/c4ai-command-r-v01", ["context 131,072"]),  # max_position_embeddings
        ("google/gemma-4-31B-it", ["values are the keys, no V matrix"]),  # attention_k_eq_v
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", ["QK-norm, output gate"]),  # q_proj makes twice the queries: query, gate
        ("AntonV/mamba2-780m-hf", ["each a state of 64 × 128"]),  # head_dim 64, state_size 128
        (NEMOTRON, ["shared: 3712 wide", "each 2688 → 1856 → 2688"]),  # moe_shared_expert_intermediate_size
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", ["each 1024 → 2688 → 1024"]),  # moe_latent_size 1024
        (KIMI, ["latent 512 + 64 shared key, NoPE"]),  # kv_lora_rank 512, qk_rope_head_dim 64, mla_use_nope
        ("google/flan-t5-large", ["relative positions of A", "relative positions of C"]),  # one table per stack
        ("deepseek-ai/DeepSeek-V4-Flash", ["chosen by a table from tokens to experts", "chosen by their scores"]),
        # 1024 x (8 + 2 x 2 + 8) x 64 in attention; 1024 x 3352 + 1792 x 5 + 3 x 24 + 1536 x 1024 in Mamba-2
        ("tiiuae/Falcon-H1-0.5B-Base", ["1.31 M weights", "5.01 M weights", "6.33 M weights together"]),
        ("google-bert/bert-base-uncased", ["bidirectional", "No KV cache (encoder)", "512 → 768, learned"]),
        ("facebook/opt-1.3b", ["Positions 2,048 + 2 → 2048, learned"]),  # an offset of 2 in front of 2,048 positions
        ("openai/whisper-large-v3-turbo", ["biases of Q, V, O", "on top what the source leaves", "B × 32"]),
        ("google/gemma-3n-E4B-it", ["Embeddings per layer 35 × 256: 2.35 B", "4 streams × 2048"]),  # 262,144 x 35 x 256
        ("google/gemma-3-27b-it", ["layers 0-4, 6-10, … 54-58, 60-61", "layers 5, 11, … 59", "pale where a window"]),
        ("Qwen/Qwen2.5-VL-7B-Instruct", ["7.62 B parameters + 677 M in towers"]),  # 8,292,166,656 in its file
    ],
)
def test_what_tells_a_design_from_its_siblings_is_said(repo: str, words: list[str]) -> None:
    """Words and figures from the published configs and the layers' code in transformers."""
    assert [w for w in words if w not in said(drawn(repo))] == []


def test_layers_of_a_card_are_said_whole() -> None:
    """Alone or from-to; what repeats evenly, from its fourth time on, by the first two and the last."""
    assert formula.places([3, 7, 11, 15, 19]).replace("\xa0", " ") == "3, 7, … 19"
    assert formula.places([0, 1, 2, 4, 5, 6, 8]) == "0-2, 4-6, 8"


@pytest.mark.parametrize("repo", ["google/gemma-3-27b-it", "AntonV/mamba2-780m-hf", "bigscience/bloom"])
def test_the_strip_numbers_its_first_and_last_layer(repo: str) -> None:
    """Whatever runs there are, however thin the bars."""
    model = derive(configs()[repo]).model
    assert model is not None
    assert {"0", str(model.n_layers - 1)} <= set(texts(repo))


def test_longcats_experts_leave_behind_the_norm_they_share() -> None:
    """Four norms in a layer and the last; 512 experts and 256 identities; what is active varies by token.

    `LongcatFlashDecoderLayer.forward`: the experts read what the first network reads, normed once.
    """
    made = picture.draw(derive({"model_type": "longcat_flash"}), "x/longcat")
    assert made is not None
    assert made.count(">RMSNorm<") == 4 + 1
    words = ("Experts, 12 of 768", "256 of them identity", "active on average")
    assert [w for w in words if w not in said(made)] == []


def test_the_structure_says_how_parts_join() -> None:
    """Falcon-H1's mixers share a branch; T5's decoder has three in turn; LongCat's experts span three."""
    falcon = derive(configs()["tiiuae/Falcon-H1-0.5B-Base"]).model
    t5 = derive(configs()["google/flan-t5-large"]).model
    longcat = derive({"model_type": "longcat_flash"}).model
    assert falcon and t5 and longcat  # noqa: PT018 - all are known
    assert [len(b.parts) for b in falcon.runs[0].layers[0].flow] == [2, 1]
    decoder = next(r for r in t5.runs if r.stack == "decoder").layers[0]
    assert [(len(b.parts), len(b.before)) for b in decoder.flow] == [(1, 1), (1, 1), (1, 1)]
    assert [b.spans for b in longcat.runs[0].layers[0].flow] == [0, 3, 0, 0, 0]


def test_what_leaves_lower_or_enters_below_the_norms_is_said() -> None:
    """Halves that do not join the stream one by one, as vLLM's Arctic and transformers' Zamba2 and OLMo-hybrid do it.

    Arctic's experts read the layer's input and pass attention and the dense network; Zamba2's shared attention and
    network are added to what a Mamba-2 layer normalizes, not to the stream; OLMo-hybrid's attention and the network
    behind it have their norms on their outputs, its linear layers in front.
    """
    arctic, zamba, olmo = (derive(c).model for c in (ARCTIC, {"model_type": "zamba2"}, {"model_type": "olmo_hybrid"}))
    assert arctic and zamba and olmo  # noqa: PT018 - all are known
    experts = next(x for r in arctic.runs for x in r.layers if any(p.kind == "ffn.moe" for p in x.parts))
    assert [b.spans for b in experts.flow] == [2, 0, 0]
    shared = next(x for r in zamba.runs for x in r.layers if x.flow[0].added)
    assert [(len(b.added), len(b.parts), len(b.before)) for b in shared.flow] == [(2, 1, 1)]
    places = {tuple((len(b.before), len(b.after)) for b in x.flow) for r in olmo.runs for x in r.layers}
    assert places == {((1, 0), (1, 0)), ((0, 1), (0, 1))}


def test_a_place_that_is_not_known_is_said_and_not_drawn() -> None:
    """A layer whose norms nobody has placed: they are counted in words, and no pill is drawn."""
    derived = derive(configs()["meta-llama/Llama-3.1-8B"])
    assert derived.model is not None
    run = derived.model.runs[0]
    loose = tuple(b._replace(before=(), loose=b.before) for b in run.layers[0].flow)
    layers = (layer(run.layers[0].parts, loose),)
    model = msgspec.structs.replace(derived.model, runs=(run._replace(layers=layers),))
    made = picture.draw(msgspec.structs.replace(derived, model=model), "x/loose")
    assert made is not None
    assert "whose place is not stated" in made


def test_an_eagle_draft_shows_the_states_it_takes() -> None:
    """EAGLE-3 reads three states of the larger model, 3 x 64 wide, joined to 64, and has a norm on either input."""
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 200,
        "draft_vocab_size": 100, "max_position_embeddings": 128, "head_dim": 16,
    }  # fmt: skip
    made = picture.draw(derive(config), "x/eagle")
    assert made is not None
    assert [w for w in ("States of the larger model", "192 → 64") if f">{w}<" not in made] == []
    assert "200 → 64, beside the states" in made
    assert "RMSNorm on each of 2 inputs, joined 128 wide" in made
    assert "a draft for a larger model" in made


def test_what_a_draft_borrows_is_said() -> None:
    """A DFlash draft has neither embedding nor head and reads three states 64 wide, all of its larger model."""
    config = {
        "model_type": "qwen3", "architectures": ["DFlashDraftModel"], "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 200, "head_dim": 16,
        "max_position_embeddings": 128, "dflash_config": {"target_layer_ids": [1, 2, 3]},
    }  # fmt: skip
    made = picture.draw(derive(config), "x/dflash")
    assert made is not None
    words = ("No head of its own", "No embedding of its own", "States of the larger model: 192 → 64")
    assert [w for w in words if w not in said(made)] == []


def test_names_cannot_leave_their_place() -> None:
    """Markup is text, control and direction marks are gone, long names are cut to their room."""
    name = "o<b>/\u202e\x1b<script>alert(1)</script>" + "x" * 300
    made = picture.draw(derive(configs()["meta-llama/Llama-3.1-8B"]), name)
    assert made is not None
    ET.fromstring(made)
    assert "<script>" not in made
    assert not re.search("[\u202e\x1b]", made)
    assert all(len("".join(t.itertext())) < 90 for t in ET.fromstring(made).iter(f"{SVG}text"))


def test_a_refused_model_has_no_drawing() -> None:
    """Nothing is drawn of what is not known."""
    assert picture.draw(derive({"model_type": "no such type"}), "x/y") is None


def test_the_legend_explains_every_colour() -> None:
    """One sign for each thing that a mixer can keep, and for nothing."""
    assert len(list(legend.swatches())) == 7
    explained = " ".join(text for _, text in (*legend.icons(), *legend.cells(), *legend.shapes()))
    assert [
        w for w in ("pale where a window ends it", "hollow", "no head", "bidirectional") if w not in explained
    ] == []


def test_show_writes_the_drawing_of_a_model(tmp_path: Path) -> None:
    """`atlas show MODEL --svg FILE` gives the picture that the model's structure gives."""
    repo, file = "meta-llama/Llama-3.1-8B", tmp_path / "llama.svg"
    assert main(["show", repo, "--svg", str(file), "--home", str(guide.home())]) == 0
    assert file.read_text("utf-8") == drawn(repo)


def test_what_makes_sound_of_the_states_stands_behind_the_stack() -> None:
    """VITS has no head: a matrix to the flow of 384 x 192 + 384 = 74,112 weights, and modules named one by one."""
    made = picture.draw(derive({"model_type": "vits", "architectures": ["VitsModel"]}), "o/n") or ""
    said = ["".join(t.itertext()) for t in ET.fromstring(made).iter(f"{SVG}text")]
    names = ["project", "duration predictor", "flow", "posterior encoder", "decoder"]
    assert [s.partition(":")[0] for s in said if " weights" in s and ":" in s] == ["Behind the stack", *names]
    assert "project: 74.1 K weights" in said


def test_each_stack_has_its_own_width_and_tables() -> None:
    """MusicGen: codes of 2,049 x 1,024 in the decoder, words of 32,128 x 512 in T5's encoder, 512 -> 2,048 -> 512."""
    text = {"model_type": "t5", "d_model": 512, "d_ff": 2048, "vocab_size": 32128}
    config = {"model_type": "musicgen", "decoder": {"model_type": "musicgen_decoder"}, "text_encoder": text}
    made = picture.draw(derive({**config, "audio_encoder": {"model_type": "encodec"}}), "o/n") or ""
    said = ["".join(t.itertext()) for t in ET.fromstring(made).iter(f"{SVG}text")]
    assert [s for n, s in enumerate(said) if said[n - 1] == "Embedding"] == ["2,049 → 1024", "32,128 → 512"]
    assert "ReLU, 512 → 2048 → 512" in [s.replace("\u00a0", " ") for s in said]
