#!/usr/bin/env python3
"""Candidates per hour: a straightforward transformers loop (hooks and generate) beside `lpes eval` on the same profiles.

Usage: compare_candidates.py --lpes build/ci/app/cli/lpes --model FOLDER [--candidates 2] [--items 4] [--threads 2]

FOLDER is the demo model as a dequantised Hugging Face folder (tests/golden/make_demo_score.py --work FOLDER writes it);
both sides read it, in bfloat16. A candidate is a profile drawn at random (a factor from 0.8 to 1.6 per layer), asked
`items` items of 20 pairs of words at begin, middle and end. The loop is what one scripts: a hook before every layer's
attention puts in cosines and sines of positions divided by the layer's factor, generate answers greedily with up to 100
new tokens, as the benchmark's script does, and the value must stand in the answer. Ours: the demo study's default,
--score strict (one prefill decides), and --score generate, which works as the loop does.
The sides take turns, candidate by candidate; loading is left out on both. What is printed for an hour is of the demo
study's candidates, 16 items at three positions.
"""
import argparse
import json
import pathlib
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from kv_words import greedy_answers, make_items, prompt_of

PAIRS, NEW_TOKENS, STUDY_PROMPTS = 20, 100, 48

parser = argparse.ArgumentParser()
parser.add_argument("--lpes", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--candidates", type=int, default=2)
parser.add_argument("--items", type=int, default=4)
parser.add_argument("--threads", type=int, default=2)
args = parser.parse_args()

torch.set_num_threads(args.threads)
model = LlamaForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16, attn_implementation="sdpa").eval()
tokenizer = AutoTokenizer.from_pretrained(args.model)
layers = model.model.layers
rotary = model.model.rotary_emb
factors = [1.0] * len(layers)


def hook_of(layer):
    def hook(_module, positional, named):
        states = named["hidden_states"] if "hidden_states" in named else positional[0]
        positions = named["position_ids"] if named.get("position_ids") is not None else \
            named["cache_position"].unsqueeze(0)
        named["position_embeddings"] = rotary(states, positions / factors[layer])
        return positional, named
    return hook


for number, layer in enumerate(layers):
    layer.self_attn.register_forward_pre_hook(hook_of(number), with_kwargs=True)


def lpes(*words):
    done = subprocess.run([args.lpes, *words, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def ours(score, profile, data, folder):
    """(seconds per prompt, {(item, gold index): (right, prompt tokens)})."""
    database = folder / f"{score}-{profile.stem}.db"
    result = lpes("eval", "--task", "kv", "--model", args.model, "--dtype", "bfloat16", "--data", str(data),
                  "--positions", "begin,middle,end", "--threads-per-worker", str(args.threads), "--score", score,
                  "--method", f"lpes:{profile}", "--db", str(database), "--progress", "none")
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT item_id, gold_index, correct, prompt_tokens FROM outcomes").fetchall()
    return 1.0 / result["prompts_per_second"], {(int(item.rsplit("/", 1)[1]), gold): (bool(right), tokens)
                                                for item, gold, right, tokens in rows}


def theirs(prompts):
    start = time.perf_counter()
    outcomes = greedy_answers(model, tokenizer, prompts, NEW_TOKENS)
    return (time.perf_counter() - start) / len(prompts), outcomes


draw = random.Random(5)
seconds = {"transformers": [], "generate": [], "strict": []}
differ = {"generate": 0, "strict": 0}
asked = 0
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    items = make_items(args.items, PAIRS)
    data = folder / "items.jsonl"
    data.write_text("".join(json.dumps(item) + "\n" for item in items))
    prompts = None
    for candidate in range(args.candidates):
        factors[:] = [round(draw.uniform(0.8, 1.6), 2) for _ in layers]
        profile = folder / f"profile-{candidate}.json"
        last = len(factors) - 1
        lpes("profile", "new", "--model", args.model, "--curve", "free", "--grid-step", "none", "--points",
             ",".join(f"{layer / last!r}:{scale!r}" for layer, scale in enumerate(factors)), "--out", str(profile))
        found = {}
        for score in ("strict", "generate"):
            taken, found[score] = ours(score, profile, data, folder)
            seconds[score].append(taken)
        if prompts is None:
            first = min(item for item, _ in found["strict"])  # lines are counted from there
            prompts = {place: (tokenizer.encode(prompt_of(items[place[0] - first], place[1]), add_special_tokens=False),
                               items[place[0] - first]["value"]) for place in sorted(found["strict"])}
        taken, reference = theirs(prompts)
        seconds["transformers"].append(taken)
        asked += len(reference)
        for score, outcomes in found.items():
            if any(outcomes[place][1] != reference[place][1] for place in reference):
                raise SystemExit("the prompts are not the same")
            differ[score] += sum(outcomes[place][0] != reference[place][0] for place in reference)

print(f"{'':>14} {'s a prompt':>11} {'candidates/h':>13} {'times transformers':>19} {'other outcomes':>15}")
for side, taken in seconds.items():
    middle = statistics.median(taken)
    ratio = statistics.median(a / b for a, b in zip(seconds["transformers"], taken))
    others = "" if side == "transformers" else f"{differ[side]}/{asked}"
    print(f"{side:>14} {middle:>11.3f} {3600 / (middle * STUDY_PROMPTS):>13.1f} {ratio:>19.2f} {others:>15}")
