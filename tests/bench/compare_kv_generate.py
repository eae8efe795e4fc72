#!/usr/bin/env python3
"""Key-value retrieval scored on generated text: transformers' own generate loop beside `lpes eval`, in turn, in one run.

Usage: compare_kv_generate.py --lpes build/ci/app/cli/lpes --model FOLDER [--items 4] [--pairs 20]
       [--positions begin,middle,end] [--threads 2] [--rounds 2] [--dtype bfloat16]

FOLDER is the demo model as a dequantised Hugging Face folder (tests/golden/make_demo_score.py --work FOLDER writes it);
both sides read it. bfloat16 rounds differently on both sides, so that one of two nearly equal tokens may be taken here
and the other there; float32 is for the outcomes. Needs torch and transformers. The items, pairs of words from
resources/demo, are written in the benchmark's own format, and both sides make the benchmark's prompt of them; equal
numbers of tokens are checked.
transformers: one prompt after the other, greedy, up to 100 new tokens, correct where value.lower() is in the answer's
lower case (lost-in-the-middle's evaluate_kv_responses.py). lpes: --score generate, which follows the same rule, and
--score strict, which takes one prefill. Prompts/s leave the loading out on both sides; ratios are medians over rounds,
each from one moment: other work on the machine hits all three.
"""
import argparse
import json
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile
import time

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from kv_words import greedy_answers, make_items, prompt_of

NEW_TOKENS = 100

parser = argparse.ArgumentParser()
parser.add_argument("--lpes", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--items", type=int, default=4)
parser.add_argument("--pairs", type=int, default=20)
parser.add_argument("--positions", default="begin,middle,end")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
args = parser.parse_args()

torch.set_num_threads(args.threads)
model = LlamaForCausalLM.from_pretrained(args.model, dtype=getattr(torch, args.dtype), attn_implementation="sdpa").eval()
tokenizer = AutoTokenizer.from_pretrained(args.model)


def ours(score, data, folder, number):
    """(prompts/s, {(item, gold index): (correct, prompt tokens, text)})."""
    database = folder / f"{score}{number}.db"
    command = [args.lpes, "eval", "--task", "kv", "--model", args.model, "--dtype", args.dtype, "--data", str(data),
               "--positions", args.positions, "--threads-per-worker", str(args.threads), "--score", score,
               "--db", str(database), "--json", "--progress", "none"]
    result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT item_id, gold_index, correct, prompt_tokens, generated FROM outcomes")
        outcomes = {(int(item.rsplit("/", 1)[1]), gold): (bool(correct), tokens, text)
                    for item, gold, correct, tokens, text in rows}
    return result["prompts_per_second"], outcomes


def theirs(prompts):
    """The same of transformers, for {(item, gold index): (token ids, value)}."""
    start = time.perf_counter()
    outcomes = greedy_answers(model, tokenizer, prompts, NEW_TOKENS)
    return len(prompts) / (time.perf_counter() - start), outcomes


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    items = make_items(args.items, args.pairs)
    data = folder / "items.jsonl"
    data.write_text("".join(json.dumps(item) + "\n" for item in items))
    rates = {"generate": [], "strict": [], "transformers": []}
    prompts = None
    for number in range(args.rounds):
        rate, generated = ours("generate", data, folder, number)
        rates["generate"].append(rate)
        if prompts is None:
            first = min(item for item, _ in generated)  # lines are counted from there
            prompts = {place: (tokenizer.encode(prompt_of(items[place[0] - first], place[1]), add_special_tokens=False),
                               items[place[0] - first]["value"]) for place in sorted(generated)}
        rate, reference = theirs(prompts)
        rates["transformers"].append(rate)
        rate, strict = ours("strict", data, folder, number)
        rates["strict"].append(rate)

print(f"{'':>14} {'prompts/s':>10} {'times transformers':>19} {'correct':>8}")
for side, outcomes in (("transformers", reference), ("generate", generated), ("strict", strict)):
    ratio = statistics.median(a / b for a, b in zip(rates[side], rates["transformers"]))
    correct = sum(outcome[0] for outcome in outcomes.values())
    print(f"{side:>14} {statistics.median(rates[side]):>10.2f} {ratio:>19.2f} {correct:>4}/{len(outcomes)}")
tokens_differ = [place for place in prompts if generated[place][1] != reference[place][1]]
outcomes_differ = [place for place in prompts if generated[place][0] != reference[place][0]]
texts_alike = sum(generated[place][2].strip() == reference[place][2].strip() for place in prompts)
print(f"{len(prompts)} prompts: {len(tokens_differ)} of another number of tokens, {len(outcomes_differ)} of another "
      f"outcome; {texts_alike} answers are the same text ({args.dtype})")
for place in outcomes_differ:
    print(f"item {place[0]} gold at {place[1]}: lpes {generated[place][2]!r}, transformers {reference[place][2]!r}")
if tokens_differ:
    raise SystemExit("the prompts are not the same")
