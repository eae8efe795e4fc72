#!/usr/bin/env python3
"""Golden prompts of the document and needle tasks, built from the official descriptions.

MDQA: nelson-liu/lost-in-the-middle, src/lost_in_the_middle/prompting.py and prompts/qa.prompt; the gold document is taken
out and put back at the gold index, for K documents the first K-1 others are kept. MDQA-random: our own sets, drawn from
(seed, item) with the streams of make_kv_items.py; a passage is left out when the words of one of the answers stand in it. NIAH: NVIDIA/RULER, scripts/data/synthetic/niah.py and constants.py, with the choices that
core/tasks/niah.h names as ours. JSON Lines: core/tasks/README.md.

Example: make_task_prompts.py --words ../../resources/demo/common-words.txt --out task_prompts.json
"""
import argparse
import json
import re
import unicodedata

from make_kv_items import below, stream, uuid

DISTRACTORS, NEEDLES, HAYSTACK, SLOTS = 11, 12, 13, 14
ANSWER_TOKENS = 128


# ---- multi-document question answering

def qa_prompt(question, documents):
    lines = ["Document [%d](Title: %s) %s" % (i + 1, d["title"], d["text"]) for i, d in enumerate(documents)]
    head = ("Write a high-quality answer for the given question using only the provided search results "
            "(some of which might be irrelevant).")
    return head + "\n\n" + "\n".join(lines) + "\n\nQuestion: " + question + "\nAnswer:"


def with_gold_at(record, index, docs=None):
    gold = [d for d in record["ctxs"] if d["isgold"]]
    others = [d for d in record["ctxs"] if not d["isgold"]]
    assert len(gold) == 1
    others = others if docs is None else others[: docs - 1]
    return others[:index] + gold + others[index:]


def qa_records():
    subjects = ["lighthouse", "glacier", "violin {maker}", "harbour \u2014 old", "comet", "orchard", "railway", "printing \"press\"",
                "estuary", "observatory"]
    records = []
    for number, gold_at in enumerate([0, 2, 4, 6, 9]):
        documents = []
        for i, subject in enumerate(subjects):
            gold = i == gold_at
            documents.append({
                "id": str(1000 * number + i), "title": subject.title(), "score": "0.%d" % (99 - i), "hasanswer": gold,
                "text": "The %s of town %d was %s in %d. %s" % (
                    subject, number, "opened" if i % 2 else "first drawn", 1700 + 10 * i + number,
                    "It is called \u201cStella %d\u201d." % number if gold else "Nothing else is known {about} it.\\n"),
                "original_retrieval_index": i, "isgold": gold})
        records.append({"question": "what is the name of the %s in town %d" % (subjects[gold_at], number),
                        "answers": ["Stella %d" % number, "the Stella %d" % number], "ctxs": documents,
                        "nq_annotated_gold": {"title": "", "long_answer": "", "chunked_long_answer": "", "short_answers": []}})
    return records


def qa_cases(records):
    cases = []
    for number, record in enumerate(records):
        for docs in (None, 4, 1):
            for index in sorted({0, 2, 4, 6, 9} if docs is None else {0, docs - 1}):
                cases.append({"item": number, "docs": docs, "gold_index": index, "answer": " " + record["answers"][0],
                              "prompt": qa_prompt(record["question"], with_gold_at(record, index, docs))})
    return cases


# ---- MDQA-random

def words_of(text):
    """Between spaces: runs of letters, digits and marks, decomposed and case-folded, without articles."""
    text = unicodedata.normalize("NFD", text.casefold())
    words = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text).split()
    return " " + "".join(w + " " for w in words if w not in ("a", "an", "the"))


def shuffled_places(source, count):
    order = list(range(count))
    for i in range(count):
        k = i + below(source, count - i)
        order[i], order[k] = order[k], order[i]
        yield order[i]


def random_records():
    records = []
    for i in range(30):
        text = "Passage %d tells of\nthe river number %d." % (i, i % 9)
        if i % 6 == 5:
            text = "One passage, word for word the same."
        if i % 9 == 3:
            text += " \u00c9cole d'\u00e9t\u00e9, 1 000\u00a0m."
        answers = ["The River-Number: %d" % (i % 9)] if i % 6 != 5 else ["e\u0301cole D\u2019\u00c9T\u00c9", "The", "?"]
        records.append({"question": "where does passage %d lead" % i, "answers": answers,
                        "ctxs": [{"title": "Title %d" % i, "text": text, "hasanswer": True, "isgold": True}]})
    return records


def random_documents(records, item, docs, seed, index):
    gold = records[item]["ctxs"][0]
    answers = [a for a in map(words_of, records[item]["answers"]) if a != " "]
    chosen = []
    for other in shuffled_places(stream(seed, DISTRACTORS, item), len(records)):
        passage = records[other]["ctxs"][0]
        if other == item or passage["text"] in [gold["text"]] + [d["text"] for d in chosen]:
            continue
        if any(a in words_of(passage["title"] + "\n" + passage["text"]) for a in answers):
            continue
        chosen.append(passage)
        if len(chosen) == docs - 1:
            return chosen[:index] + [gold] + chosen[index:]
    raise AssertionError("too few passages")


def random_cases(records):
    return [{"item": item, "docs": docs, "seed": seed, "gold_index": index, "answer": " " + records[item]["answers"][0],
             "prompt": qa_prompt(records[item]["question"], random_documents(records, item, docs, seed, index))}
            for docs, seed in ((5, 1), (20, 2**40 + 3)) for item in (0, 5, 11, 29) for index in (0, docs // 2, docs - 1)]


# ---- needle in a haystack

def tokens(text):
    """What the test's tokenizer counts: words, and every other character by itself; one token more in front."""
    return 1 + len(re.findall(r"[A-Za-z]+|[^A-Za-z]", text))


def needle_text(source, kind, words):
    if kind == "numbers":
        return str(1000000 + below(source, 9000000))
    if kind == "uuids":
        return uuid(source)
    first = words[below(source, len(words))]
    return first + "-" + words[below(source, len(words))]


def new_text(source, kind, words, seen):
    while True:
        text = needle_text(source, kind, words)
        if text not in seen:
            seen.add(text)
            return text


def niah_item(spec, seed, index, words):
    source, seen, hidden = stream(seed, NEEDLES, index), set(), []
    for _ in range(max(spec["keys"], spec["queries"])):
        key = new_text(source, spec["key_kind"], words, seen)
        hidden.append((key, [new_text(source, spec["value_kind"], words, seen) for _ in range(spec["values"])]))
    order = [hidden[i] for i in shuffled_places(source, len(hidden))]
    return order, seen


def sentence(spec, key, value):
    return "One of the special magic %s for %s is: %s." % (spec["value_kind"], key, value)


def niah_prompt(spec, seed, index, count, place, words, essay):
    order, seen = niah_item(spec, seed, index, words)
    needles = [(key, value) for key, values in order for value in values]
    if spec["haystack"] == "noise":
        hay = ["The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."] * count
    elif spec["haystack"] == "essay":
        hay = [essay[i % len(essay)] for i in range(count)]
    else:
        source, hay = stream(seed, HAYSTACK, index), []

        def draw(kind):
            while True:
                text = needle_text(source, kind, words)
                if text not in seen:
                    return text
        for _ in range(count):
            key = draw(spec["key_kind"])
            hay.append(sentence(spec, key, draw(spec["value_kind"])))
    places = shuffled_places(stream(seed, SLOTS, index), count + 1)
    gaps = [place] + [next(places) for _ in needles[1:]]
    lines = []
    for gap in range(count + 1):
        lines += [sentence(spec, *needle) for needle, at in zip(needles, gaps) if at == gap]
        lines += hay[gap:gap + 1]
    asked = order[: spec["queries"]]
    queries, answers = [key for key, _ in asked], [value for _, values in asked for value in values]
    query = ", ".join(queries[:-1]) + ", and " + queries[-1] if len(queries) > 1 else queries[0]
    template = ("Some special magic {type_needle_v} are hidden within the following text. Make sure to memorize it. I will "
                "quiz you about the {type_needle_v} afterwards.\n{context}\nWhat are all the special magic {type_needle_v} "
                "for {query} mentioned in the provided text? The special magic {type_needle_v} for {query} mentioned in the "
                "provided text are")
    kind = spec["value_kind"]
    if spec["queries"] * spec["values"] == 1:
        template = template.replace("Some", "A").replace("are all", "is").replace("are", "is")
        kind = kind[:-1]
    context = (" " if spec["haystack"] == "essay" else "\n").join(lines)
    return template.format(type_needle_v=kind, context=context, query=query), answers


def sentences_that_fit(spec, seed, index, words, essay):
    count = max(1, max(spec["keys"], spec["queries"]) * spec["values"] - 1)
    while all(tokens(niah_prompt(spec, seed, index, count, place, words, essay)[0]) + ANSWER_TOKENS <= spec["length"]
              for place in (0, count)):
        count += 1
    return count - 1


ESSAY = ("It began\tin  the morning. \u201cWho is there?\u201d asked the keeper (he had not slept.) Nobody answered!\n\nHe went to the "
         "door, slowly\nand with care... The wind was 3.5 knots and the sea - as Dr. Moss had said - was \"calm.\" So he wrote it down")


def essay_sentences():
    made, words = [], []
    for word in ESSAY.split():
        words.append(word)
        if word.rstrip("\"')]\u201d\u2019").endswith((".", "!", "?")):
            made.append(" ".join(words))
            words = []
    return made + ([" ".join(words)] if words else [])


def niah_cases(words):
    sets, essay = [], essay_sentences()
    for haystack, keys, values, queries, key_kind, value_kind, length, seed in (
            ("noise", 1, 1, 1, "words", "numbers", 500, 1), ("noise", 4, 1, 1, "words", "numbers", 700, 9),
            ("needle", 1, 1, 1, "uuids", "uuids", 900, 2), ("needle", 1, 4, 1, "words", "numbers", 800, 3),
            ("noise", 1, 1, 4, "words", "numbers", 800, 4), ("essay", 2, 2, 2, "numbers", "words", 900, 2**33),
            ("essay", 1, 1, 1, "words", "uuids", 600, 5)):
        spec = {"haystack": haystack, "keys": keys, "values": values, "queries": queries, "key_kind": key_kind,
                "value_kind": value_kind, "length": length}
        count = min(sentences_that_fit(spec, seed, i, words, essay) for i in range(3))
        prompts = []
        for item in range(3):
            for place in sorted({0, count // 2, count}):
                text, answers = niah_prompt(spec, seed, item, count, place, words, essay)
                prompts.append({"item": item, "gold_index": place, "prompt": text, "answers": answers})
        sets.append({"spec": spec, "seed": seed, "places": count + 1, "prompts": prompts})
    return {"essay": ESSAY, "sets": sets}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--words", required=True)
    arguments.add_argument("--out", required=True)
    options = arguments.parse_args()
    with open(options.words, encoding="utf-8") as file:
        words = file.read().split()
    documents, pool = qa_records(), random_records()
    golden = {"mdqa": {"lines": [json.dumps(r) for r in documents], "prompts": qa_cases(documents)},
              "mdqa_random": {"lines": [json.dumps(r) for r in pool], "prompts": random_cases(pool)},
              "niah": niah_cases(words)}
    with open(options.out, "w", encoding="utf-8") as out:
        json.dump(golden, out, indent=1, ensure_ascii=False)
        out.write("\n")


if __name__ == "__main__":
    main()
