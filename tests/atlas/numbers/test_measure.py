"""Laws of the folds: what must hold for any structure, and a second, slower way to every total."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.derived import Derived
from atlas.interpret import derive
from atlas.numbers import measure
from atlas.numbers.structure import Model, Part, Run, Tensor, design_id, layer, part, runs_of
from atlas.numbers.tabulate import layers_expanded, parameter_rows, state_rows
from atlas.parts.attention import Gqa, gqa
from atlas.parts.ends import Ends, ends
from atlas.parts.experts import Moe, moe
from atlas.parts.feeding import Mlp, mlp
from atlas.parts.latent import Mla, mla
from atlas.parts.norms import norm
from atlas.parts.recurrent import GatedDelta, gated_delta
from atlas.parts.selective import Mamba2, mamba2
from schemas.vocabulary import APART, Component, Role

WIDTH = 64
SMALL = st.integers(1, 6)


@st.composite
def mixers(draw: st.DrawFn) -> Part:
    """Any mixer over the width."""
    kv, group, hd = draw(SMALL), draw(SMALL), draw(st.sampled_from([8, 16]))
    window = draw(st.one_of(st.none(), st.integers(1, 9000)))
    made = draw(st.sampled_from(["gqa", "mla", "mamba2", "gated_delta"]))
    if made == "gqa":
        flags = [draw(st.booleans()) for _ in range(3)]
        kind = "full_attention" if window is None else "sliding_attention"
        return gqa(
            Gqa(
                WIDTH,
                kv * group,
                kv,
                hd,
                draw(SMALL) * 4,
                flags[0],
                flags[1],
                draw(st.sampled_from(["none", "head", "full"])),
                False,
                flags[2],
                "none",
                kind,
                window,
            )
        )
    if made == "mla":
        return mla(Mla(WIDTH, kv * group, draw(st.one_of(st.none(), SMALL)), draw(SMALL) * 8, hd, 4, hd))
    if made == "mamba2":
        return mamba2(Mamba2(WIDTH, kv, hd, 1, draw(SMALL), 4, True, False, False))
    return gated_delta(GatedDelta(WIDTH, kv, kv * group, hd, hd, 4))


@st.composite
def feeds(draw: st.DrawFn) -> Part:
    """Any feed-forward network over the width."""
    gated, d_ff = draw(st.booleans()), draw(SMALL) * 8
    if draw(st.booleans()):
        return mlp(Mlp(WIDTH, d_ff, gated, draw(st.booleans()), "silu"))
    experts = draw(st.integers(1, 8))
    return moe(
        Moe(WIDTH, d_ff, experts, draw(st.integers(1, experts)), gated, "silu", shared=draw(st.sampled_from([0, 8])))
    )


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Any model of such layers."""
    kinds = [
        layer((norm("n", WIDTH, "rmsnorm", False), draw(mixers()), draw(feeds())))
        for _ in range(draw(st.integers(1, 3)))
    ]
    words = draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=12))
    runs = tuple(Run(n, tuple(kinds[w] for w in words[s : s + u])) for n, s, u in runs_of(tuple(words)))
    both = ends(
        Ends(100, WIDTH, draw(st.booleans()), draw(st.sampled_from(["lm", "none", "score"])), 3, "rmsnorm", False)
    )
    return Model(layer(both), runs, "rmsnorm", "pre")


def expanded(model: Model) -> list[tuple[Part, Tensor]]:
    """Every tensor of every layer, written out."""
    layers = [model.ends, *(each for run in model.runs for _ in range(run.repeats) for each in run.layers)]
    return [(p, t) for each in layers for p in each.parts for t in p.tensors]


@settings(max_examples=150, deadline=None)
@given(models())
def test_components_sum_to_the_total(model: Model) -> None:
    """The components sum to params_total, which is every stored weight written out."""
    ledger = measure.model_ledger(model)
    written = sum(t.stored * prod(t.shape) for _, t in expanded(model) if t.component not in APART)
    assert measure.params_total(ledger) == sum(measure.component(ledger, c) for c in measure.COMPONENTS) == written


@settings(max_examples=150, deadline=None)
@given(models())
def test_active_never_exceeds_total(model: Model) -> None:
    """One token uses at most what is stored; with dense layers only, exactly that."""
    ledger = measure.model_ledger(model)
    assert ledger.active <= measure.params_total(ledger)
    if all(t.component is not Component.EXPERTS_ROUTED for _, t in expanded(model)):
        assert ledger.active == measure.params_total(ledger)


@settings(max_examples=150, deadline=None)
@given(models(), st.integers(0, 3_000_000))
def test_state_grows_and_its_slope_is_bounded(model: Model, context: int) -> None:
    """State never shrinks with context.

    A token adds at most what the first one adds, and beyond every window exactly the growth.
    """
    ledger = measure.model_ledger(model)
    here, next_one = measure.kv_bytes(model, context), measure.kv_bytes(model, context + 1)
    assert 0 <= next_one - here <= ledger.growth_first + ledger.index_growth
    beyond = measure.kv_bytes(model, 10_001) - measure.kv_bytes(model, 10_000)
    assert beyond == ledger.growth + ledger.index_growth
    assert measure.kv_bytes(model, 0) == ledger.constant


@settings(max_examples=100, deadline=None)
@given(models())
def test_tables_hold_the_same_totals(model: Model) -> None:
    """The rows of parameters and states, run-length as they are, sum to the same totals."""
    ledger = measure.model_ledger(model)
    rows = parameter_rows(model)
    assert sum(
        r["repeats"] * r["stored"] * r["elements"] for r in rows if r["component"] not in APART
    ) == measure.params_total(ledger)
    growing = sum(
        r["repeats"] * r["elements"] * 2 for r in state_rows(model) if r["kind"] == "kv" and r["window"] is None
    )
    assert growing == ledger.growth
    assert len({r.index for r in layers_expanded(model)}) == model.n_layers


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_runs_spell_the_sequence(words: list[int]) -> None:
    """Runs, written out, are the sequence they were cut from."""
    cut = runs_of(tuple(words))
    assert [w for n, s, u in cut for _ in range(n) for w in words[s : s + u]] == words


@settings(max_examples=50, deadline=None)
@given(models())
def test_a_design_does_not_depend_on_names(model: Model) -> None:
    """Renaming every tensor leaves design_id as it is; one more element in one shape does not."""

    def again(p: Part, grow: int = 0) -> Part:
        named = [t._replace(name="x", shape=(t.shape[0] + grow, *t.shape[1:])) for t in p.tensors]
        return part(p.kind, named, p.states, p.reads, p.info)

    renamed = Model(layer(tuple(again(p) for p in model.ends.parts)), model.runs, "rmsnorm", "pre")
    grown = Model(layer(tuple(again(p, 1) for p in model.ends.parts)), model.runs, "rmsnorm", "pre")
    assert design_id(renamed) == design_id(model) != design_id(grown)


def test_a_tied_head_is_stored_once_and_multiplies() -> None:
    """A tied head adds nothing to the total and the whole matrix to the multiplications.

    The looked-up table adds none.
    """
    tied, untied = (ends(Ends(1000, WIDTH, t, "lm", 2, "rmsnorm", False)) for t in (True, False))
    ledgers = [measure.layer_ledger(layer(e)) for e in (tied, untied)]
    assert [measure.params_total(g) for g in ledgers] == [1000 * WIDTH + WIDTH, 2 * 1000 * WIDTH + WIDTH]
    assert [g.active_compute for g in ledgers] == [1000 * WIDTH, 1000 * WIDTH]


def test_weights_outside_the_total_stay_outside() -> None:
    """MTP layers, towers and buffers are counted beside params_total, never in it."""
    apart = part("x", [Tensor("t", (10,), c, Role.VECTOR) for c in APART])
    ledger = measure.part_ledger(apart)
    assert measure.params_total(ledger) == 0 == ledger.active
    assert sum(ledger.params) == 30


DENSE: dict[str, Any] = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}


def test_what_a_design_is_made_of() -> None:
    """Theta, context, dtype and quantization are not the design; activation, position and depth are."""

    def design(**changes: Any) -> str | None:
        derived: Derived = derive({**DENSE, **changes})
        return derived.fingerprint.design_id

    same = design()
    assert (
        design(
            rope_theta=5e5,
            max_position_embeddings=8192,
            torch_dtype="float16",
            quantization_config={"quant_method": "gptq"},
        )
        == same
    )
    assert same not in (
        design(hidden_act="gelu"),
        design(num_hidden_layers=31),
        design(attention_bias=True),
        design(tie_word_embeddings=True),
    )


def test_fused_and_unfused_checkpoints_are_one_design() -> None:
    """Phi-3 stores q, k, v in one tensor, Llama in three: the same shapes are the same design."""
    shape = {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "vocab_size": 90,
    }
    assert (
        derive({"model_type": "phi3", **shape}).fingerprint.design_id
        == derive({"model_type": "llama", **shape}).fingerprint.design_id
    )
