"""Every table of a snapshot: its key, its columns and what a row stands for, in the order they are written.

Layers, parameters and states are in run-length form: one row stands for `repeats` equal layers. The whole of the
model's ends (embedding, final norm, head) has run -1.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.fields import FINGERPRINT, Field, at_home, count, word
from schemas.vocabulary import (
    AttentionKind,
    Check,
    Component,
    Ffn,
    Mask,
    Mixer,
    Origin,
    Outcome,
    Position,
    RefusalKind,
    Role,
    Sighting,
    StateKind,
    StoredEvidence,
    StoredGroup,
)


class Table(NamedTuple):
    """One table. Rows are stored in the order of `key`, which is unique; a snapshot has `least_rows` or more."""

    name: str
    meaning: str
    key: tuple[str, ...]
    fields: tuple[Field, ...]
    least_rows: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(f.name for f in self.fields)


def _must(field: Field) -> Field:
    return field._replace(nullable=False)


_BY_NAME = {f.name: f for f in FINGERPRINT}
_REPO = _must(_BY_NAME["repo_id"])
_CONFIG_ID = word("config_id", "SHA-256 of the raw bytes of the config, in hex.", nullable=False)
_DESIGN_ID = _must(_BY_NAME["design_id"])
_RUN = Field(
    "run", "int", "Run of equal layers, counted from 0; -1 for the ends of the model.", nullable=False, least=-1
)
_SLOT = _must(count("slot", "Place in the run's unit of layers.", "position"))
_REPEATS = Field(
    "repeats", "int", "How many layers of the model this row stands for.", "layers", nullable=False, least=1
)
_PART = word("part", "Kind of the part the row belongs to.", nullable=False)

MODELS = Table(
    "models",
    "One row per listed repository, with the outcome of the refresh and what the listing says.",
    ("repo_id",),
    (
        _REPO,
        word(
            "outcome",
            "How the repository stands; what is unchanged since an earlier refresh is ok (runs tells them apart).",
            Outcome,
            nullable=False,
        ),
        _BY_NAME["revision"],
        word("detail", "What explains the outcome, where something does."),
        word("author", "Owner of the repository, as listed."),
        Field("created_at", "time", "Creation of the repository, UTC; null at the Hub's floor of 2022-03-02."),
        Field("release_date", "date", "Day of the release, as a cited source states it."),
        Field("last_modified", "time", "Last change of the repository, UTC, as listed."),
        count("downloads", "Downloads as listed (last 30 days).", "downloads"),
        count("likes", "Likes as listed.", "likes"),
        word("gated", "Access as listed: false, auto or manual."),
        Field("disabled", "flag", "Whether the Hub has disabled the repository, as listed."),
        Field("private", "flag", "Whether the repository is private, as listed."),
        word("pipeline_tag", "Task as listed."),
        word("library_name", "Library as listed."),
        Field("base_models", "texts", "Models this one says it was made from."),
        word("base_model_relation", "How it was made from them: finetune, quantized, adapter or merge."),
        count("hub_params_total", "Elements the Hub counted in the safetensors headers.", "elements"),
        Field("hub_params_by_dtype", "counts", "The same, per stored element type.", "elements"),
        word("model_type_hint", "model_type as listed, before the config is read."),
        word("architecture_hint", "First architecture as listed, before the config is read."),
        word("quant_method_hint", "Quantization as listed, before the config is read."),
        Field("tags", "texts", "Tags as listed."),
        _CONFIG_ID._replace(nullable=True, meaning="Config of the repository; null where none was ever read."),
        Field("as_of", "date", "Day the config was last seen to be the repository's; null where none was ever read."),
        word("source", "Where the config comes from: catalogue, hub or a folder.", nullable=False),
    ),
    least_rows=1,
)

CONFIGS = Table(
    "configs",
    "One row per distinct config text, with the text itself and where every derived value comes from.",
    ("config_id",),
    (
        _CONFIG_ID,
        Field("raw", "text", "The config as published; null where it is not UTF-8 or was too large to keep."),
        Field("raw_bytes", "blob", "The config as published, where it is not UTF-8."),
        _must(count("size_bytes", "Length of the config as published.", "bytes")),
        *at_home("configs"),
        Field("evidence", "evidence", "One entry per value: field, value (as JSON), origin, source.", nullable=False),
        Field(
            "unread",
            "texts",
            "Keys of the config that nothing read and that are not known to be irrelevant.",
            None,
            nullable=False,
        ),
        word(
            "stored_reason",
            "Why weight_bytes_checkpoint is null, in a sentence: what is missing; null where it is not.",
        ),
    ),
    least_rows=1,
)

DESIGNS = Table(
    "designs",
    "One row per distinct structure: everything that follows from shapes alone.",
    ("design_id",),
    (_DESIGN_ID, *(_must(f) if f.name == "params_total" else f for f in at_home("designs"))),
    least_rows=1,
)

LAYERS = Table(
    "layers",
    "One row per mixer of each distinct layer of a design; indices are first_index + k x stride, k < repeats.",
    ("design_id", "run", "slot", "mixer_slot"),
    (
        _DESIGN_ID,
        _RUN._replace(least=0, meaning="Run of equal layers, counted from 0."),
        _SLOT,
        _must(count("mixer_slot", "Place among the mixers of the layer.", "position")),
        _REPEATS,
        _must(count("first_index", "Index of the first layer this row stands for.", "layers")),
        Field(
            "stride",
            "int",
            "Distance between the layers this row stands for: the length of the run's unit.",
            "layers",
            nullable=False,
            least=1,
        ),
        word("mixer", "How the layer mixes tokens.", Mixer, nullable=False),
        _BY_NAME["attention_kind"]._replace(nullable=True, among=AttentionKind),
        count("n_q_heads", "Query heads of this mixer.", "heads"),
        count("n_kv_heads", "Key and value heads of this mixer; null for MLA.", "heads"),
        count("head_dim", "Width of one query and key head.", "elements"),
        count("v_head_dim", "Width of one value head.", "elements"),
        count("window", "Tokens this mixer can look back; null where there is no bound.", "tokens"),
        Field(
            "kv_bytes_per_held_token",
            "real",
            "What one held token occupies here, windowed or not, at 2 bytes.",
            "bytes/token",
            least=0,
        ),
        Field(
            "index_bytes_per_held_token", "real", "What the indexer keeps of one held token.", "bytes/token", least=0
        ),
        _must(count("state_bytes_constant", "State of a fixed size.", "bytes")),
        count("kv_shared_from", "Layer whose cache this one reads.", "layers"),
        word("position", "How this mixer knows where a token stands; null where it does not attend.", Position),
        word("attention_mask", "Which positions this mixer may look at; null where it does not attend.", Mask),
        word("ffn", "Feed-forward network of the layer.", Ffn, nullable=False),
        _must(
            count("params", "Stored weights of the whole layer, the same in the row of each of its mixers.", "weights")
        ),
    ),
    least_rows=1,
)

PARAMETERS = Table(
    "parameters",
    "One row per distinct weight of a design. params_total sums repeats x stored x elements, without those apart.",
    ("design_id", "run", "slot", "ordinal"),
    (
        _DESIGN_ID,
        _RUN,
        _SLOT,
        _must(count("ordinal", "Place among the weights of the layer.", "position")),
        _PART,
        word("name", "Name in the checkpoint, with {i} for the layer's index and {e} for an expert's.", nullable=False),
        _REPEATS,
        Field("shape", "ints", "Shape of one copy; empty for a scalar.", "elements", nullable=False),
        _must(count("stored", "Copies the checkpoint stores.", "copies")),
        _must(count("touched", "Copies (or times) one token uses it, at most.", "copies")),
        count(
            "choices",
            "Choices of the router, empty ones among them: a token uses touched x stored / choices copies on average."
            " Null where none is empty.",
            "copies",
        ),
        word("role", "What one token does with it.", Role, nullable=False),
        word("component", "What it belongs to.", Component, nullable=False),
        Field("elements", "int", "Numbers in one copy: the product of the shape.", "elements", nullable=False, least=0),
    ),
    least_rows=1,
)

STATES = Table(
    "states",
    "One row per distinct state of a sequence: `elements` per `stride` tokens, for at most `window` tokens.",
    ("design_id", "run", "slot", "ordinal"),
    (
        _DESIGN_ID,
        _RUN,
        _SLOT,
        _must(count("ordinal", "Place among the states of the layer.", "position")),
        _PART,
        _REPEATS,
        word(
            "kind",
            "A key/value cache, an indexer's side cache, what a source token leaves, or a state of a fixed size.",
            StateKind,
            nullable=False,
        ),
        word("stack", "The layers that keep it: decoder, encoder or mtp; null for the ends of the model."),
        count("owner", "Index of the first layer that keeps it; null for the ends of the model.", "layers"),
        Field(
            "owner_step",
            "int",
            "The row stands for the layers owner + k x owner_step, k < repeats.",
            "layers",
            nullable=False,
            least=1,
        ),
        _must(count("elements", "Elements of one entry.", "elements")),
        count(
            "k_elements", "Keys among them; a latent that is keys and values is all keys. Null elsewhere.", "elements"
        ),
        count("v_elements", "Values among them; 0 where keys and values are one. Null elsewhere.", "elements"),
        count("channels", "Channels of a convolution's columns; null elsewhere.", "channels"),
        count("kernel", "Tokens that convolution spans; null elsewhere.", "tokens"),
        count("n_heads", "KV heads or recurrent heads it divides into; null where it does not.", "heads"),
        count("groups", "Groups of B and C among the channels, whole on every rank; null elsewhere.", "groups"),
        _must(count("stride", "Tokens per entry; 0 where the state has a fixed size.", "tokens")),
        count("window", "Tokens held at most; null where there is no bound.", "tokens"),
        Field(
            "width_bytes",
            "int",
            "Bytes of one element the family keeps; null where the deployer chooses (2 here).",
            "bytes",
            least=1,
        ),
    ),
)

STORED = Table(
    "stored",
    "One row per group, scheme and type of what weight files hold; bytes sum to weight_bytes_checkpoint.",
    ("subject", "group", "scheme", "dtype"),
    (
        word(
            "subject",
            "The config_id whose settings say it, or the repo_id where a header, an index or another file of it does.",
            nullable=False,
        ),
        word("group", "What the tensors belong to.", StoredGroup, nullable=False),
        word("scheme", "How they are stored: unquantized, fp8_block, gptq_int4, mlx_int4, ...", nullable=False),
        word("dtype", "Element type in the file, as safetensors or GGUF names it.", nullable=False),
        _must(count("tensors", "Tensors of this kind.", "tensors")),
        count("elements", "Elements of them, packed ones once; null where their length is data.", "elements"),
        count("bytes", "Bytes of them; null where their length is data.", "bytes"),
        word(
            "evidence",
            "What says so: header, index, the Hub's counts by type (hub), or rule.",
            StoredEvidence,
            nullable=False,
        ),
    ),
)

REFUSALS = Table(
    "refusals",
    "One row per config that gives no number, with the reason.",
    ("config_id",),
    (
        _CONFIG_ID,
        word("kind", "Why, as a word.", RefusalKind, nullable=False),
        word("reason", "Why, as a sentence.", nullable=False),
    ),
)

CONSTANTS = Table(
    "constants",
    "One row per config and constant: what changes the computation and not the shape, outside the design_id.",
    ("config_id", "field"),
    (
        _CONFIG_ID,
        word(
            "field",
            "norm_epsilon, rotary_pairing, a softcap, a scale, routing, a token id, ...",
            nullable=False,
        ),
        word("value", "The value as JSON.", nullable=False),
        word("origin", "Whether a key states it or the class takes it.", Origin, nullable=False),
        word("source", "The key, or the class.", nullable=False),
    ),
)

FEATURES = Table(
    "features",
    "One row per config and feature, for counting populations.",
    ("config_id", "feature"),
    (_CONFIG_ID, word("feature", "A design choice, as a word.", nullable=False)),
)

REPORTED = Table(
    "reported",
    "One row per fact that a paper or card states about a model, with its citation.",
    ("repo_id", "fact", "citation"),
    (
        _REPO,
        word("fact", "What is stated: params_total, params_active, training_tokens, release_date, ...", nullable=False),
        word("value", "The value as text, digits plain, dates as YYYY-MM-DD.", nullable=False),
        word("unit", "Unit of the value.", nullable=False),
        word("citation", "The source, and where in it.", nullable=False),
    ),
)

CHECKS = Table(
    "checks",
    "One row per comparison of a derived total with a checkpoint's own.",
    ("repo_id", "kind"),
    (
        _REPO,
        word("kind", "What it was held against: safetensors_total, headers, ...", nullable=False),
        count("expected", "The checkpoint's own count.", "elements"),
        count("derived", "Ours.", "elements"),
        word("result", "How they compare.", Check, nullable=False),
        word("note", "What explains a difference."),
        word("source", "Where the checkpoint's count was published or read."),
    ),
)

DISAGREEMENTS = Table(
    "disagreements",
    "One row per value that another tool or source states otherwise.",
    ("repo_id", "field", "tool"),
    (
        _REPO,
        word("field", "Which value.", nullable=False),
        word("tool", "Who says otherwise, with version.", nullable=False),
        word("theirs", "Their value, as text.", nullable=False),
        word("ours", "Our value, as text."),
        word("explanation", "Why they differ, where it is known."),
    ),
)

MEASUREMENTS = Table(
    "measurements",
    "One row per measured number: of this project's experiments, of its comparisons, of an engine's benchmark.",
    ("experiment", "subject", "quantity", "conditions", "measured_on"),
    (
        word("experiment", "Name of the experiment, or of the engine's benchmark.", nullable=False),
        word("subject", "What it was run on.", nullable=False),
        word("quantity", "What was measured; a bound beside a measurement says so.", nullable=False),
        Field("value", "real", "The measured value; the median where there are samples.", nullable=False),
        word("unit", "Unit of the value.", nullable=False),
        Field("low", "real", "Lower quartile of the samples, in the unit; null where no samples are known."),
        Field("high", "real", "Upper quartile of the samples, in the unit; null where no samples are known."),
        count("samples", "Samples that the value is the median of.", "samples"),
        word("hardware", "The machine it ran on; null where the number depends on none."),
        word("engine", "The library or engine that ran it; null where none did."),
        word("engine_version", "Version of that library or engine."),
        word("conditions", "Threads, further versions and settings that matter.", nullable=False),
        Field("measured_on", "date", "Day of the measurement.", nullable=False),
    ),
)

RUNS = Table(
    "runs",
    "One row per repository: what happened to it in the refresh that published the snapshot. Outside all digests.",
    ("repo_id",),
    (
        _REPO,
        word("outcome", "How the repository ended in that refresh.", Outcome, nullable=False),
        word("detail", "What explains the outcome, where something does."),
        Field("day", "date", "Day of that refresh.", nullable=False),
    ),
    least_rows=1,
)

SIGHTINGS = Table(
    "sightings",
    "One row per model_type, class or unread key that was ever seen here, with the day of the first. Outside digests.",
    ("kind", "model_type", "name"),
    (
        word("kind", "What was seen: a model_type, a class, or a key that nothing read.", Sighting, nullable=False),
        word("model_type", "The model_type it was seen in; (none) where the configs state none.", nullable=False),
        word("name", "The model_type, class or key itself.", nullable=False),
        Field("first_seen", "date", "Day of the first snapshot kept here that had it.", nullable=False),
        _must(count("configs", "Distinct configs that have it; 0 where none has it any more.", "configs")),
        _must(count("models", "Repositories of those configs.", "models")),
        count("downloads", "Downloads of those repositories as listed; null where none is listed.", "downloads"),
    ),
)

SNAPSHOT = Table(
    "snapshot",
    "The manifest: one row per table, and the row `snapshot` for the whole. Written last: it completes the file.",
    ("name",),
    (
        word("name", "Table, or `snapshot` for the whole.", nullable=False),
        Field("rows", "int", "Rows of the table; for the whole, repositories found.", "rows", nullable=False, least=0),
        word("digest", "SHA-256 over the ordered rows of the table; for the whole, over the manifest.", nullable=False),
        word("snapshot_id", "Identity of the snapshot: its date, and .2, .3, ... for later ones of a day."),
        word("source", "What was refreshed: catalogue, hub or a folder."),
        word("schema_version", "Version of the contract of tables and columns."),
        word("code_version", "Version of the package that made it."),
        word("previous_id", "The snapshot before."),
        word("previous_digest", "Digest of the manifest of the snapshot before."),
    ),
    least_rows=2,
)

CONTENT: tuple[Table, ...] = (
    MODELS, CONFIGS, DESIGNS, LAYERS, PARAMETERS, STATES, STORED,
    CONSTANTS, REFUSALS, FEATURES, REPORTED, CHECKS, DISAGREEMENTS, MEASUREMENTS,
)  # fmt: skip
"""What a snapshot says; two snapshots with equal digests of these are equal."""

RECORDS: tuple[Table, ...] = (RUNS, SIGHTINGS)
"""What a snapshot tells of its own making and of those before it: in the file and checked, in no digest."""

TABLES: dict[str, Table] = {t.name: t for t in (*CONTENT, *RECORDS, SNAPSHOT)}

EVIDENCE: tuple[Field, ...] = (
    word("field", "Column the value belongs to.", nullable=False),
    word("value", "The value, as JSON.", nullable=False),
    word("origin", "Where it comes from.", Origin, nullable=False),
    word("source", "The config key, the rule in words, or the citation.", nullable=False),
)
"""What one entry of configs.evidence holds."""
