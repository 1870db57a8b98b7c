"""What headers alone say: the rows of table `stored`, groups and schemes as far as names tell, and the weights."""

from __future__ import annotations

from atlas.checkpoint.header import apart_of
from atlas.checkpoint.listing import Listing, Stored
from atlas.checkpoint.packing import unpack
from atlas.numbers.storage import StoredRow
from atlas.stored.held import Held, rows
from atlas.stored.settings import Settings

LANGUAGE_MODEL, SCALES, UNQUANTIZED = "language_model", "scales", "unquantized"
_GROUPS = {"mtp": "drafts", "towers": "towers", "buffers": "buffers"}


def rows_of(listing: Listing, s: Settings | None, evidence: str) -> tuple[StoredRow, ...]:
    """The rows of table `stored` for every tensor listed; each has its type and shape."""
    plain = unpack(listing, s.raw if s else None)
    held = (
        Held(
            SCALES if name in plain.scales else group(name, entry),
            plain.schemes.get(name, UNQUANTIZED),
            str(entry.dtype),
            1,
            entry.elements,
        )
        for name, entry in listing.items()
    )
    return rows(held, evidence)


def group(name: str, entry: Stored) -> str:
    """Where a tensor belongs by its name."""
    return _GROUPS.get(apart_of(name, entry) or "", LANGUAGE_MODEL)


def weights(listing: Listing, s: Settings | None) -> int | None:
    """The logical weights of all tensors, packed ones as what they stand for; None where a packing is not known."""
    plain = unpack(listing, s.raw if s else None)
    if plain.unknown:
        return None
    each = [e.elements for e in plain.listing.values()]
    return None if None in each else sum(n for n in each if n is not None)


_HEADS = (".lm_head.weight", ".embed_out.weight", ".output.weight", ".output_layer.weight")
_TABLES = (
    ".embed_tokens.weight", ".wte.weight", ".word_embeddings.weight", ".tok_embeddings.weight", ".token_embd.weight",
)  # fmt: skip
_EXPERTS = (".experts.", ".switch_mlp.", "_exps.")


def components(listing: Listing, s: Settings | None) -> dict[str, int]:
    """Weights by what they belong to, as far as names tell; empty where a packing is not known."""
    plain = unpack(listing, s.raw if s else None)
    found: dict[str, int] = {}
    if plain.unknown or any(e.elements is None for e in plain.listing.values()):
        return found
    for name, entry in plain.listing.items():
        kind = _component(name, entry)
        if kind is not None and entry.elements is not None:
            found[kind] = found.get(kind, 0) + entry.elements
    return found


def _component(name: str, entry: Stored) -> str | None:
    apart = apart_of(name, entry)
    if apart is not None:
        return apart
    last = "." + name
    if last.endswith(_HEADS):
        return "unembedding"
    if last.endswith(_TABLES):
        return "embedding"
    return "experts_routed" if any(x in name for x in _EXPERTS) else None
