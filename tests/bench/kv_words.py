"""Key-value items of common words and the benchmark's prompt of them, for scripts that compare with other programs."""
import pathlib
import random

import torch

WORDS = pathlib.Path(__file__).parents[2] / "resources" / "demo" / "common-words.txt"


def make_items(count, pairs):
    """[{ordered_kv_records, key, value}] as in the benchmark's files."""
    words, draw, items = WORDS.read_text().split(), random.Random(11), []
    for _ in range(count):
        keys, values = draw.sample(words, pairs), draw.sample(words, pairs)
        records = [list(pair) for pair in zip(keys, values)]
        gold = draw.choice(records)
        items.append({"ordered_kv_records": records, "key": gold[0], "value": gold[1]})
    return items


def prompt_of(item, gold_index):
    """The text of prompts/kv_retrieval.prompt with the gold pair put at gold_index."""
    gold = [item["key"], item["value"]]
    records = [record for record in item["ordered_kv_records"] if record != gold]
    records.insert(gold_index, gold)
    lines = [f'{" " if i else "{"}"{key}": "{value}"' for i, (key, value) in enumerate(records)]
    return ("Extract the value corresponding to the specified key in the JSON object below.\n\nJSON data:\n"
            + ",\n".join(lines) + f'}}\n\nKey: "{item["key"]}"\nCorresponding value:')


def greedy_answers(model, tokenizer, prompts, new_tokens):
    """{place: (value found, prompt tokens, text)} of transformers' generate, one prompt after the other, for
    {place: (token ids, value)}."""
    outcomes = {}
    with torch.inference_mode():
        for place, (ids, value) in prompts.items():
            out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                                 max_new_tokens=new_tokens, do_sample=False)
            text = tokenizer.decode(out[0, len(ids):], skip_special_tokens=True)
            outcomes[place] = (value.lower() in text.lower(), len(ids), text)
    return outcomes
