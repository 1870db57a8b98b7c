"""Bad configs: each a sentence and a refusal_kind, never an exception, never an infinity in a column."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas.families import available
from atlas.interpret import derive

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "vocab_size": 100,
}


def text(**changes: Any) -> bytes:
    """A small llama config with some keys changed."""
    return json.dumps({**LLAMA, **changes}).encode()


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"", "not_json"),
        (b"<!DOCTYPE html><html>log in</html>", "not_json"),
        (text()[:-5], "not_json"),
        (b"\xef\xbb\xbf" + text(), "not_json"),
        (text().decode().encode("utf-16"), "not_json"),
        (b'{"model_type": "llama", "x": "\\ud800"}', "not_json"),
        (b'{"model_type": "lla\x00ma"}', "not_json"),
        (b"[1, 2]", "not_an_object"),
        (b"null", "not_an_object"),
        (b'"llama"', "not_an_object"),
        (b"17", "not_an_object"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_deep"),
        (b'{"a": "' + b"x" * 50_000_000 + b'"}', "too_large"),
        (b'{"model_type": "llama", "hidden_size": 64, "hidden_size": 32}', "bad_value"),
        (b"{}", "missing_key"),
        (text(model_type=None), "missing_key"),
        (text(model_type=["llama"]), "bad_value"),
        (text(model_type="../../etc/passwd"), "unknown_family"),
        (text(model_type="_irrelevant"), "unknown_family"),
        (text(architectures=["LlamaForImageMagic"]), "unknown_class"),
        (text(num_attention_heads=0), "bad_value"),
        (text(num_attention_heads=-4), "bad_value"),
        (text(num_attention_heads="4"), "bad_value"),
        (text(num_attention_heads=4.5), "bad_value"),
        (text(num_attention_heads=True), "bad_value"),
        (text(num_attention_heads=[4]), "bad_value"),
        (text(num_hidden_layers=10**6), "bad_value"),
        (text(num_key_value_heads=3), "contradiction"),
        (text(hidden_size=66), "contradiction"),
        (text(attention_bias="no"), "bad_value"),
        (text(rope_theta="many"), "bad_value"),
        (text(rope_scaling="linear"), "bad_value"),
        (text(quantization_config="fp8"), "bad_value"),
        (text().replace(b'"hidden_size": 64', b'"hidden_size": 1' + b"0" * 400), "bad_value"),
        (text().replace(b'"hidden_size": 64', b'"hidden_size": NaN'), "bad_value"),
        (text().replace(b'"hidden_size": 64', b'"hidden_size": Infinity'), "bad_value"),
        (
            text(
                hidden_size=10_000_000,
                num_attention_heads=1,
                num_key_value_heads=1,
                vocab_size=10_000_000,
                num_hidden_layers=4096,
                intermediate_size=10_000_000,
            ),
            "bad_value",
        ),
    ],
)
def test_bad_input_is_refused_with_a_reason(raw: bytes, kind: str) -> None:
    """Each kind of bad input has its own refusal_kind and a sentence of ordinary length."""
    found = derive(raw).fingerprint
    assert (found.verdict, found.refusal_kind) == ("refused", kind), found.refusal_reason
    assert found.refusal_reason
    assert len(found.refusal_reason) < 400
    assert found.params_total is None


def test_infinity_in_a_key_that_does_not_matter_is_read_past() -> None:
    """A bare Infinity, as Mamba and Nemotron-H files carry in time_step_limit, harms nothing else."""
    raw = text(time_step_limit=[0.0, math.inf])
    assert b"Infinity" in raw
    assert derive(raw).fingerprint.params_total == derive(text()).fingerprint.params_total


def test_integers_beyond_64_bits_in_a_key_that_does_not_matter_are_read_past() -> None:
    """10^400 in an irrelevant key harms nothing else."""
    raw = text().replace(b'"vocab_size"', b'"eos_token_id": 1' + b"0" * 400 + b', "vocab_size"')
    assert derive(raw).fingerprint.verdict == "known"


def test_a_missing_key_is_named_with_the_spellings_tried() -> None:
    """A refusal for a missing key says which keys were looked for."""
    found = derive({"model_type": "kimi_k2", "hidden_size": 64}).fingerprint
    assert found.refusal_kind == "missing_key"
    assert "vocab_size" in str(found.refusal_reason)


def test_absent_null_and_zero_are_three_answers() -> None:
    """KV heads absent take the class's default, null where the class types it means one per query head, 0 is refused.

    transformers 5.24: MistralConfig types them `int = 8` and refuses null; LlamaConfig `int | None`, None becomes 32.
    """
    base = {"model_type": "mistral", "sliding_window": None}
    assert derive(base).fingerprint.n_kv_heads == 8
    assert "must be stated, or left out" in str(_refused({**base, "num_key_value_heads": None}))
    assert derive({"model_type": "llama", "num_key_value_heads": None}).fingerprint.n_kv_heads == 32
    assert _refused({**base, "num_key_value_heads": 0}) is not None


def _refused(config: dict[str, object]) -> str | None:
    """The reason why a value is refused."""
    found = derive(config).fingerprint
    assert found.refusal_kind == "bad_value"
    return found.refusal_reason


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 300),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        [0, 1, 2, 64, 10**400, "auto", "full_attention", "sliding_attention", "float32", math.nan, math.inf]
    ),
)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=5) | st.dictionaries(st.text(max_size=8), v, max_size=4), max_leaves=12
)
HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large, HealthCheck.large_base_example]
TYPES = st.sampled_from(sorted(t for t in available() if not t.startswith("_")))


def keys_of(model_type: str) -> list[str]:
    """Keys that the family reads, and those its wrapped language model does."""
    from atlas.families import family

    rules = family(model_type)
    known = {k for keys in rules.keys.values() for k in keys} | rules.defaults.keys() | rules.facts.keys()
    return sorted(
        known
        | {
            "hidden_size",
            "num_hidden_layers",
            "layer_types",
            "rope_scaling",
            "rope_parameters",
            "text_config",
            "architectures",
            "quantization_config",
        }
    )


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """A config of some family with strange values under keys it reads."""
    model_type = draw(TYPES)
    chosen = draw(st.dictionaries(st.sampled_from(keys_of(model_type)), VALUES, max_size=8))
    if draw(st.booleans()):
        chosen["text_config"] = draw(st.dictionaries(st.sampled_from(keys_of("llama")), VALUES, max_size=5))
    return {"num_hidden_layers": draw(st.integers(1, 8)), **chosen, "model_type": model_type}


def no_exception_escapes(config: dict[str, Any]) -> None:
    """Whatever stands in a config, there is a row: numbers that are finite, or a refusal with a reason."""
    found = derive(config).fingerprint
    assert found.verdict in ("known", "assumed", "refused")
    assert (found.params_total is None) == (found.verdict == "refused")
    for value in msgspec.to_builtins(found).values():
        assert not isinstance(value, float) or math.isfinite(value)
        assert not isinstance(value, int) or abs(value) < 2**63


@settings(max_examples=150, suppress_health_check=HEALTH, deadline=None)
@given(configs())
def test_strange_configs_never_raise(config: dict[str, Any]) -> None:
    """150 configs of every family with strange values end in a row."""
    no_exception_escapes(config)


@pytest.mark.soak
@settings(max_examples=10_000, suppress_health_check=HEALTH, deadline=None)
@given(configs())
def test_ten_thousand_strange_configs_never_raise(config: dict[str, Any]) -> None:
    """10,000 of them."""
    no_exception_escapes(config)


@settings(max_examples=200, suppress_health_check=HEALTH, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_end_in_a_refusal(raw: bytes) -> None:
    """Bytes that are no config are refused."""
    assert derive(raw).fingerprint.verdict == "refused"
