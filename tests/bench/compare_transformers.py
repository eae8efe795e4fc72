#!/usr/bin/env python3
"""Times the engine and transformers on the same prompts in one run, in turn, and prints the ratio.

Usage: compare_transformers.py --bench build/ci/tests/bench/bench_prefill --model FOLDER [--threads 2] [--seconds 3]

FOLDER is the demo model as a dequantised Hugging Face folder (tests/golden/make_demo_score.py --work FOLDER writes it). Needs torch and transformers. bench_prefill prints its prompts' token ids with --prompts; transformers runs
exactly those, in bfloat16 with sdpa attention, one prompt per pass for a length and padded for a batch.
"""
import argparse
import json
import statistics
import subprocess
import time

import torch
from transformers import LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--bench", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--seconds", type=float, default=3.0)
args = parser.parse_args()

torch.set_num_threads(args.threads)
model = LlamaForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16, attn_implementation="sdpa").eval()


def bench(*options):
    command = [args.bench, "--threads", str(args.threads), "--seconds", str(args.seconds), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def transformers_seconds(prompts, answer):
    """Median seconds of one pass that yields the logits of the answer positions."""
    length = max(len(p) for p in prompts)
    ids = torch.tensor([[0] * (length - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (length - len(p)) + [1] * len(p) for p in prompts])
    times = []
    with torch.inference_mode():
        begin = time.perf_counter()
        while len(times) < 3 or time.perf_counter() - begin < args.seconds:
            start = time.perf_counter()
            kwargs = {} if len(prompts) == 1 else {"attention_mask": mask}
            model(ids, use_cache=False, logits_to_keep=answer + 1, **kwargs)
            times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


print(f"{'prompts':>12} {'ours tok/s':>12} {'transformers':>13} {'ratio':>6} {'GEMM limit':>11} {'of limit':>9}")
for name in [row["name"] for row in bench("--list")["rows"]]:
    ours = bench("--only", name, "--prompts")["rows"][0]
    tokens = sum(len(p) for p in ours["prompts"])
    theirs = tokens / transformers_seconds(ours["prompts"], ours["answer_tokens"])
    print(f"{name:>12} {ours['tokens_per_second']:>12.0f} {theirs:>13.0f} {ours['tokens_per_second'] / theirs:>6.2f} "
          f"{ours['gemm_tokens_per_second']:>11.0f} {ours['tokens_per_second'] / ours['gemm_tokens_per_second']:>9.2f}", flush=True)
