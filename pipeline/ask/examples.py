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
FROM (SELECT repo_id, kv_bytes_128k FROM fingerprints WHERE kv_bytes_128k > 0 ORDER BY 2, 1 LIMIT 20)
ORDER BY kv_bytes_128k, repo_id""",
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
    "The newest models, by the dates that sources give": """
SELECT repo_id, r.value::DATE AS released, params_total, layer_pattern
FROM reported r JOIN fingerprints USING (repo_id) WHERE r.fact = 'release_date'
ORDER BY released DESC, repo_id LIMIT 20""",
    "Designs and models by year of release": """
SELECT year(r.value::DATE) AS year, count(*) AS models, count(DISTINCT design_id) AS designs
FROM reported r JOIN fingerprints USING (repo_id) WHERE r.fact = 'release_date' AND verdict = 'known'
GROUP BY year ORDER BY year""",
    "How attention is shared, year by year": """
SELECT year(r.value::DATE) AS year, attention_kind, count(DISTINCT design_id) AS designs
FROM reported r JOIN fingerprints USING (repo_id) WHERE r.fact = 'release_date' AND verdict = 'known'
GROUP BY ALL ORDER BY year, designs DESC, attention_kind""",
    "The first release with each feature": """
SELECT feature, min(r.value::DATE) AS first, arg_min(repo_id, (r.value, repo_id)) AS model
FROM features JOIN models USING (config_id) JOIN reported r USING (repo_id)
WHERE r.fact = 'release_date'
GROUP BY feature ORDER BY first, feature""",
    "Populations: designs that have each feature": """
SELECT feature, count(DISTINCT design_id) AS designs, count(*) AS models
FROM features JOIN models USING (config_id) JOIN fingerprints USING (repo_id)
WHERE verdict = 'known'
GROUP BY feature ORDER BY designs DESC, feature""",
    "Two features together": """
SELECT repo_id, params_total FROM fingerprints JOIN models USING (repo_id)
WHERE config_id IN (SELECT config_id FROM features WHERE feature = 'mla')
  AND config_id IN (SELECT config_id FROM features WHERE feature = 'moe')
ORDER BY params_total DESC""",
    "Median growth of the cache per token, by kind of attention": """
SELECT attention_kind, count(DISTINCT design_id) AS designs, median(kv_bytes_per_token) AS median_bytes
FROM fingerprints WHERE verdict = 'known' AND kv_bytes_per_token > 0
GROUP BY attention_kind ORDER BY median_bytes DESC""",
    "Models below eight billion parameters, least cache first": """
SELECT repo_id, params_total, kv_bytes_32k
FROM fingerprints WHERE params_total < 8e9 AND kv_bytes_32k > 0
ORDER BY kv_bytes_32k LIMIT 20""",
    "Cache of a batch, 32 sequences of 8,192 tokens at one byte, of models that keep little": """
SELECT repo_id, 32 * kv_bytes(repo_id, 8192, 1) AS batch_bytes
FROM (SELECT repo_id FROM fingerprints WHERE kv_bytes_4k IS NOT NULL ORDER BY kv_bytes_4k, repo_id LIMIT 20)
ORDER BY batch_bytes, repo_id""",
    "What files weigh beside 16 bits a weight": """
SELECT repo_id, quant_method, weight_bytes_checkpoint, weight_bytes_bf16,
  round(weight_bytes_checkpoint / weight_bytes_bf16, 3) AS of_bf16
FROM fingerprints WHERE weight_bytes_checkpoint IS NOT NULL
ORDER BY of_bf16, repo_id LIMIT 20""",
    "Reported totals beside derived ones": """
SELECT r.repo_id, r.value::HUGEINT AS reported, f.params_total AS derived, r.citation
FROM reported r JOIN fingerprints f USING (repo_id)
WHERE r.fact = 'params_total' ORDER BY r.repo_id LIMIT 20""",
    "Training compute, 6 N D, where tokens are reported": """
SELECT repo_id, params_active_compute, value::HUGEINT AS tokens, 6.0 * params_active_compute * value::DOUBLE AS flops
FROM reported JOIN fingerprints USING (repo_id)
WHERE fact = 'training_tokens' ORDER BY flops DESC LIMIT 20""",
    "Experts: how many, how many used, how wide": """
SELECT repo_id, n_routed_experts, experts_per_token, n_shared_experts, moe_d_ff, n_moe_layers
FROM fingerprints WHERE is_moe ORDER BY n_routed_experts DESC, repo_id LIMIT 20""",
    "Models with sliding windows, and the window": """
SELECT repo_id, sliding_window, layer_mix, max_context
FROM fingerprints WHERE sliding_window IS NOT NULL
ORDER BY sliding_window, repo_id""",
    "Depth and width of models between six and nine billion parameters": """
SELECT repo_id, n_layers, d_model, d_ff, round(d_ff / d_model, 2) AS ratio
FROM fingerprints WHERE params_total BETWEEN 6e9 AND 9e9
ORDER BY n_layers, repo_id""",
    "Bytes one decoded token reads, short and long": """
SELECT repo_id, decode_bytes_per_token_4k, decode_bytes_per_token_128k
FROM fingerprints WHERE decode_bytes_per_token_4k IS NOT NULL
ORDER BY decode_bytes_per_token_128k DESC LIMIT 20""",
    "Where KV heads are copied at eight tensor-parallel ranks": """
SELECT repo_id, n_kv_heads, tp_degrees['8'] AS at_eight
FROM fingerprints WHERE tp_degrees['8'] LIKE 'copied%'
ORDER BY n_kv_heads, repo_id LIMIT 20""",
    "Computation beside the shape: constants of one model": """
SELECT c.field, c.value, c.origin, c.source
FROM constants c JOIN models USING (config_id)
WHERE repo_id = 'google/gemma-2-9b' ORDER BY field""",
    "Every verdict and check, counted": """
SELECT verdict, "check", count(*) AS models
FROM fingerprints GROUP BY ALL ORDER BY models DESC, verdict""",
    "The plan of a query": """
EXPLAIN SELECT repo_id FROM fingerprints WHERE is_moe ORDER BY params_total""",
}
