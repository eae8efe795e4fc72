#!/usr/bin/env python3
"""Inverse frequencies and attention factors as transformers computes them (rope_frequencies.json), for every rope type,
at lengths inside and beyond the original context. Needs torch and transformers. Run it in this folder."""
import json, pathlib
import transformers
from transformers import LlamaConfig, Phi3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

BASE = dict(hidden_size=512, num_attention_heads=4, head_dim=128, max_position_embeddings=4096)
CASES = {
    "linear": (LlamaConfig, dict(rope_type="linear", rope_theta=1e4, factor=4.0), {}),
    "dynamic": (LlamaConfig, dict(rope_type="dynamic", rope_theta=1e4, factor=2.0), {}),
    "yarn_llama2": (LlamaConfig, dict(rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=4096), {}),
    "yarn_qwen": (LlamaConfig, dict(rope_type="yarn", rope_theta=1e6, factor=4.0, original_max_position_embeddings=32768), dict(max_position_embeddings=131072)),
    "yarn_mscale": (LlamaConfig, dict(rope_type="yarn", rope_theta=1e4, factor=40.0, original_max_position_embeddings=4096, mscale=0.707, mscale_all_dim=0.5, beta_fast=64.0, beta_slow=2.0), {}),
    "yarn_not_truncated": (LlamaConfig, dict(rope_type="yarn", rope_theta=1e4, factor=8.0, original_max_position_embeddings=4096, truncate=False), {}),
    "llama3": (LlamaConfig, dict(rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192), dict(max_position_embeddings=131072)),
    "longrope": (Phi3Config, dict(rope_type="longrope", rope_theta=1e4, short_factor=[1.0 + 0.01 * i for i in range(64)], long_factor=[1.0 + 0.5 * i for i in range(64)]), dict(max_position_embeddings=131072, original_max_position_embeddings=4096)),
}
out = {"script": "make_rope_golden.py", "transformers": transformers.__version__, "cases": {}}
for name, (config_class, block, extra) in CASES.items():
    config = config_class(**(BASE | extra), rope_parameters=dict(block))
    lengths = {}
    for length in (1, config.max_position_embeddings // 2, config.max_position_embeddings * 3):
        inverse, factor = ROPE_INIT_FUNCTIONS[block["rope_type"]](config, "cpu", seq_len=length)
        lengths[str(length)] = [float(v) for v in inverse.double()]
    out["cases"][name] = {"model_type": config.model_type, "config": BASE | extra, "rope_parameters": block,
                          "attention_factor": factor, "inv_freq": lengths}
path = pathlib.Path(__file__).with_name("rope_frequencies.json")
path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
