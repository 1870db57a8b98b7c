"""Decoders with a gate, a table, a smaller stack or a target's projections outside theirs, as a config states them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atlas.families.loader import family
from atlas.families.towers import Stack, tower_row
from atlas.numbers.structure import Part, Standing
from atlas.parts import codes, outside
from atlas.parts.norms import norm
from atlas.parts.streams import low_rank
from atlas.readers.attention import read_gqa
from atlas.readers.ends import Made, decoder, known_head, tied
from atlas.readers.feeding import read_mlp
from atlas.readers.towers import demanded, laid
from atlas.reading.arithmetic import evaluate
from atlas.reading.config import Config
from atlas.reading.values import like_default, mapping

PREDICTOR = "qwen3_tts_talker_code_predictor"
LAST_NORM = "model.norm"


def low_rank_streams(c: Config) -> Made:
    """A decoder's ends without a norm of their own: the streams are mixed to one at the end."""
    parts, cls = decoder(c)
    return (*parts, low_rank(c.count("hidden_size"), c.count("hc_count"), c.count("hc_lowrank"), injects=False)), cls


def drafter(c: Config) -> Made:
    """A decoder's ends and what joins a drafter to its target, which the wrapper states."""
    parts, cls = decoder(c)
    for field in ("backbone_hidden_size", "use_ordered_embeddings", "num_centroids"):
        c.top(field)
    centroids = c.count("num_centroids") if c.flag("use_ordered_embeddings") else 0
    made = outside.drafter(c.count("hidden_size"), c.count("backbone_hidden_size"), centroids, c.count("vocab_size"))
    return (*parts, *made), cls


def canvas(c: Config) -> Made:
    """A decoder's ends and the network that conditions a canvas on its last guess."""
    parts, cls = decoder(c)
    scalars = c.count("hidden_size"), c.count("intermediate_size"), c.count("num_hidden_layers")
    return (*parts, outside.conditioning(*scalars)), cls


def talker(c: Config) -> Made:
    """Ends of a talker: tables of codes and of text behind two matrices, a head of codes, and its code predictor."""
    parts, cls = decoder(c)
    d = c.count("hidden_size")
    text = outside.text_table(d, c.count("text_vocab_size"), c.count("text_hidden_size"))
    return (*parts, text, *_predictor(c, d)), cls


def codebooks(c: Config) -> Made:
    """A decoder's ends, and a table and a head over the codes of all codebooks, which the wrapper states."""
    parts, cls = decoder(c)
    for field in ("num_audio_codebook", "audio_vocab_size"):
        c.top(field)
    books, codes_each = c.count("num_audio_codebook"), c.count("audio_vocab_size")
    return (*parts, outside.codebooks(c.count("hidden_size"), codes_each, books)), cls


def scores_by_layer(c: Config) -> Made:
    """A decoder without a head, and one score after each layer from `start_layer` on, every `layer_sep`-th."""
    parts, cls = decoder(c)
    scored = len(range(c.size("start_layer"), c.count("num_hidden_layers") + 1, c.count("layer_sep")))
    c.derived("scored_layers", scored, "one from start_layer to the last, in steps of layer_sep")
    return (*parts, outside.scores(c.count("hidden_size"), scored)), cls


def modules(c: Config) -> Made:
    """A table of tokens, and the modules beside the stack that the row of towers states which the fact names.

    They belong to the model: what makes sound of an encoder's states, or states of sound.
    """
    parts, cls = decoder(c)
    return (*parts, *_modules(c, head=False)), cls


def modules_alone(c: Config) -> Made:
    """The last norm where there is one, and tables and heads as that row states them: of every codebook, of frames."""
    cls, head = known_head(c, "lm", "none")
    tied(c)
    last = norm(LAST_NORM, c.count("hidden_size"), c.word("norm_class"), c.flag("norm_bias"), Standing("final"))
    return (*[last] * c.flag("final_norm"), *_modules(c, head=head == "lm")), cls


def _modules(c: Config, *, head: bool) -> list[Part]:
    row = tower_row(c.rules.facts["modules"])

    def lookup(name: str) -> Any:
        if name == "has_head":
            return head
        if name in row.sizes:
            return evaluate(row.sizes[name], lookup)
        return like_default(c.name(name), c.need(name), c.rules.defaults.get(name))

    demanded(row, lookup, c.rules.model_type)
    made = [
        outside.modules(_called(each), n, held, each.role, each.component)
        for each in row.stacks
        for n, held in laid(each, lookup)
    ]
    return [p for p in made if p.tensors]


def _called(each: Stack) -> str:
    """What the row calls a stack, else the module of the model it belongs to, or its own where it stands alone."""
    return each.name or each.at.partition(".")[0] or each.modules[0].name.rpartition(".")[2]


def _predictor(c: Config, d: int) -> tuple[Part, ...]:
    raw: Any = mapping("code_predictor_config", c.need("code_predictor_config"))
    inner = Config(raw, family(PREDICTOR), None, c.prefix + "code_predictor_config.")
    steps, width = c.count("num_code_groups"), inner.count("hidden_size")
    layers, vocab = inner.count("num_hidden_layers"), inner.count("vocab_size")
    seen: Any = inner
    stack = codes.stack(read_gqa(seen), read_mlp(seen), width, layers, steps)
    return (stack, codes.around(d, width, vocab, steps - 1))


ENDS: dict[str, Callable[[Config], Made]] = {
    f.__name__: f
    for f in (low_rank_streams, drafter, canvas, talker, codebooks, scores_by_layer, modules, modules_alone)
}
