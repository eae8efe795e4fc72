#!/usr/bin/env python3
"""Times the engine and transformers on the same prompts in one run, in turn, and prints both, ratio, limit and share.

Usage: compare_transformers.py --bench build/ci/tests/bench/bench_prefill --model FOLDER [--threads 2] [--seconds 3]
       [--rounds 3] [--only ROW]

FOLDER is the demo model as a dequantised Hugging Face folder (tests/golden/make_demo_score.py --work FOLDER writes it).
Needs torch and transformers. bench_prefill prints its prompts' token ids with --prompts; transformers runs exactly
those, in bfloat16 with sdpa attention, one prompt per pass for a length and padded for a batch; decoding is greedy with
the KV cache. Ratio and share are medians over rounds, each from one moment: other work on the machine hits both sides.
What the limit counts is said in bench_prefill.cpp.
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
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--only", default="")
args = parser.parse_args()

torch.set_num_threads(args.threads)
model = LlamaForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16, attn_implementation="sdpa").eval()


def bench(*options):
    command = [args.bench, "--threads", str(args.threads), "--seconds", str(args.seconds), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def prefill_seconds(prompts, answer):
    """Seconds of passes that yield the logits of the answer positions."""
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
    return times[1:]


def decode_seconds(prompt, new_tokens):
    """Seconds of greedy decoding after the prompt's prefill: the bare loop, without generate()'s bookkeeping."""
    times = []
    with torch.inference_mode():
        begin = time.perf_counter()
        while len(times) < 3 or time.perf_counter() - begin < args.seconds:
            out = model(torch.tensor([prompt]), use_cache=True, logits_to_keep=1)
            start = time.perf_counter()
            for _ in range(new_tokens):
                out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True)
            times.append(time.perf_counter() - start)
    return times[1:]


def measured(name):
    """One round: (ours, theirs, limit) in tokens/s, from the same moment."""
    ours = bench("--only", name, "--prompts")["rows"][0]
    if name == "decode":
        theirs = ours["new_tokens"] / statistics.median(decode_seconds(ours["prompts"][0], ours["new_tokens"]))
    else:
        tokens = sum(len(p) for p in ours["prompts"])
        theirs = tokens / statistics.median(prefill_seconds(ours["prompts"], ours["answer_tokens"]))
    return ours["tokens_per_second"], theirs, ours["limit_tokens_per_second"]


print(f"{'row':>8} {'ours tok/s':>12} {'transformers':>13} {'ratio':>6} {'limit tok/s':>12} {'of limit':>9}")
for name in [row["name"] for row in bench("--list")["rows"] if args.only in ("", row["name"])]:
    rounds = [measured(name) for _ in range(args.rounds)]
    ours, theirs, limit = (statistics.median(r[i] for r in rounds) for i in range(3))
    ratio = statistics.median(r[0] / r[1] for r in rounds)
    share = statistics.median(r[0] / r[2] for r in rounds)
    print(f"{name:>8} {ours:>12.1f} {theirs:>13.1f} {ratio:>6.2f} {limit:>12.1f} {share:>9.2f}", flush=True)
