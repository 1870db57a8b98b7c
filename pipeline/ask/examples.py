"""Questions a snapshot answers, each as one query: shown by `atlas sql --examples`, and run by the tests."""

from __future__ import annotations

EXAMPLES: dict[str, str] = {
    "What a model weighs, and where": """
SELECT component, sum(repeats * stored * elements) AS weights
FROM parameters JOIN fingerprints USING (design_id)
WHERE repo_id = 'meta-llama/Llama-3.1-8B'
GROUP BY component ORDER BY weights DESC""",
    "Cache of one sequence of 131,072 tokens, beside it with 1 byte an element": """
SELECT repo_id, kv_bytes_128k, kv_bytes(repo_id, 131072, 1) AS at_one_byte
FROM fingerprints WHERE kv_bytes_128k > 0
ORDER BY kv_bytes_128k LIMIT 20""",
    "Mixture-of-experts models by how little of them a token uses": """
SELECT repo_id, params_total, params_active, round(params_active / params_total, 4) AS used
FROM fingerprints WHERE is_moe
ORDER BY used LIMIT 20""",
    "Where every value of a model comes from": """
SELECT field, value, origin, source
FROM evidence WHERE repo_id = 'meta-llama/Llama-3.1-8B'
ORDER BY field""",
    "The layers of a model, one by one": """
SELECT index, mixer, l.attention_kind, l.n_q_heads, l.n_kv_heads, l.head_dim, l."window", ffn
FROM layers_expanded l JOIN fingerprints f USING (design_id)
WHERE f.repo_id = 'openai/gpt-oss-120b'
ORDER BY index""",
    "How many models and how many designs share keys and values which way": """
SELECT attention_kind, count(*) AS models, count(DISTINCT design_id) AS designs
FROM fingerprints WHERE verdict = 'known'
GROUP BY attention_kind ORDER BY models DESC""",
    "Repositories with the same architecture": """
SELECT design_id, count(*) AS models, list(repo_id ORDER BY repo_id) AS repos
FROM fingerprints WHERE design_id IS NOT NULL
GROUP BY design_id HAVING count(*) > 1 ORDER BY models DESC, design_id""",
    "Models with linear-attention or state-space layers, and what they keep for ever": """
SELECT repo_id, layer_mix, state_bytes_constant
FROM fingerprints WHERE state_bytes_constant > 0
ORDER BY state_bytes_constant DESC""",
    "Models whose design is not the one of the base they state": """
SELECT repo_id, base_model, relation, design_id, base_design_id
FROM lineage WHERE NOT is_same_design
ORDER BY base_model, repo_id""",
    "Why configs gave no numbers": """
SELECT kind, count(*) AS configs, any_value(reason) AS example
FROM refusals GROUP BY kind ORDER BY configs DESC""",
    "Keys that nothing reads: new features, or keys to review": """
SELECT * FROM unread_keys ORDER BY configs DESC, model_type, key""",
    "What a column means": """
SELECT column_name, data_type, comment
FROM duckdb_columns() WHERE table_name = 'fingerprints'""",
}
