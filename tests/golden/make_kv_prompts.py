#!/usr/bin/env python3
"""Golden key-value prompts: the official text, built by its own description.

What nelson-liu/lost-in-the-middle does (src/lost_in_the_middle/prompting.py, scripts/get_kv_responses_from_*.py): the
asked pair is taken out of the records and put back at the gold index; every record is written as "key": "value" without
any escaping; the first is preceded by "{", each other by one space, they are separated by ",\\n", the last is followed
by "}". For fewer pairs than the file has, the first pairs-1 others are kept.

Example: make_kv_prompts.py --data ../data/lost-in-the-middle/kv-retrieval-12_keys.jsonl --out kv_prompts.json
"""
import argparse
import hashlib
import json

INSTRUCTION = "Extract the value corresponding to the specified key in the JSON object below."


def prompt(others, gold, index):
    records = list(others)
    records.insert(index, gold)
    lines = ['"%s": "%s"' % (key, value) for key, value in records]
    block = "{" + ",\n ".join(lines) + "}"
    return "\n".join([INSTRUCTION, "", "JSON data:", block, "", 'Key: "%s"' % gold[0], "Corresponding value:"])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", required=True, help="key-value file of lost-in-the-middle, plain")
    arguments.add_argument("--out", required=True)
    options = arguments.parse_args()

    from_file = []
    with open(options.data, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            record = json.loads(line)
            gold = (record["key"], record["value"])
            others = [tuple(pair) for pair in record["ordered_kv_records"]]
            others.remove(gold)
            for pairs in (len(others) + 1, 5, 2):
                kept = others[: pairs - 1]
                for index in sorted({0, 1, (pairs - 1) // 2, pairs - 1}):
                    text = prompt(kept, gold, index)
                    from_file.append({"item": number, "pairs": pairs, "gold_index": index, "prompt": text,
                                      "answer": ' "%s"' % gold[1]})

    # The first is the repository's own test case; the others show that nothing is escaped or interpreted.
    written = []
    for others, gold, index in (
        ([("test key1", "test value1"), ("test key3", "test value3")], ("test key2", "test value2"), 1),
        ([('a "quoted" key', "back\\slash"), ("tab\there", "line\nbreak")], ('"', '\\"'), 2),
        ([("{key}", "{formatted_kv_records}"), ("%s", "{}")], ("{0}", "}{"), 0),
        ([("schlüssel", "größe"), ("键", "值")], ("clé", "été 🎈"), 1),
    ):
        written.append({"others": others, "gold": gold, "gold_index": index, "prompt": prompt(others, gold, index)})

    template = prompt([("{key_1}", "{value_1}"), ("{key_2}", "{value_2}")], ("{gold_key}", "{gold_value}"), 1)
    template_hash = hashlib.sha256((template + "\0" + ' "{gold_value}"').encode()).hexdigest()

    with open(options.out, "w", encoding="utf-8") as out:
        json.dump({"template_hash": template_hash, "from_file": from_file, "written": written}, out, indent=1, ensure_ascii=False)
        out.write("\n")


if __name__ == "__main__":
    main()
