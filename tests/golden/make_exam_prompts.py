#!/usr/bin/env python3
"""Golden prompts of ZeroSCROLLS, L-Eval, MMLU and C-Eval, built from the descriptions of their official scripts.

  ZeroSCROLLS  tau-nlp/zero_scrolls, experiments/api/{api,openai_api}.py
  L-Eval       OpenLMLab/LEval, Baselines/{LEval_config,llama2-chat-test,longchat-test}.py, Evaluation/auto_eval.py
  MMLU         hendrycks/test, evaluate_hf.py
  C-Eval       hkust-nlp/ceval, code/evaluator_series/evaluators/llama.py

The files are made up here, in the official formats, except the MMLU excerpts in ../data/mmlu. A prompt fits when system
prompt and text have at most `max_bytes` bytes of UTF-8. With --data (folders mmlu, ceval and leval with the published
files) digests over the prompts of every item are written as well.

Example: make_exam_prompts.py --data DATA --out exam_prompts.json
"""
import argparse
import csv
import gzip
import hashlib
import io
import json
import os
import re
import tarfile

FOLDER = os.path.dirname(os.path.abspath(__file__))


def size(system, text):
    return len(system.encode()) + len(text.encode())


# ---------------------------------------------------------------------------------------------------- ZeroSCROLLS

SUMMARIES = {"gov_report": 1024, "summ_screen_fd": 512, "qmsum": 512, "squality": 512}
ANSWERS = {"qasper": 128, "narrative_qa": 64, "quality": 10, "musique": 32, "space_digest": 36, "book_sum_sort": 256}
SCROLLS_METRICS = {"qasper": "f1", "narrative_qa": "f1", "musique": "f1", "quality": "letter", "space_digest": "similarity",
                   "book_sum_sort": "concordance"}


def scrolls_record(name, output, number=0, instruction=None):
    instruction = instruction or f" You are given a naïve text “{name}” 🎈. Do what is asked. "
    document = " ".join(f"第{i} sentence of {name} №{number} — été." for i in range(12 + number))
    query = "" if name in ("gov_report", "summ_screen_fd", "space_digest", "book_sum_sort") else "Question:\nWhat is “été” 🎈?\n\n"
    response = "Summary:\n" if name in SUMMARIES else "Answer:\n"
    before = f"{instruction}\n\nText:\n"
    text = before + document + "\n\n"
    record = {"id": f"{name}_é{number}", "pid": f"{name}_{number}_0", "input": text + query + response, "output": output,
              "document_start_index": len(before), "document_end_index": len(before) + len(document),
              "query_start_index": len(text), "query_end_index": len(text) + len(query.rstrip()),
              "truncation_seperator": "... [The rest of the text is omitted]\n\n"}
    if query == "":
        record["query_end_index"] = record["query_start_index"]
    return record


def scrolls_prompt(name, record, chat, max_bytes=None):
    text = record["input"]
    start, end, query, query_end = (record[key] for key in (
        "document_start_index", "document_end_index", "query_start_index", "query_end_index"))
    if chat:
        if name not in SUMMARIES:
            at = text.find("\n\n")
            new = f"{text[:at].strip()} Do not provide any explanation."
            shift = len(new) - at
            text = new + text[at:]
            start, end, query, query_end = start + shift, end + shift, query + shift, query_end + shift
        text = text[:query_end]
    if max_bytes is None or size("", text) <= max_bytes:
        return text, ""
    for cut in range(end - 1, start - 1, -1):
        short = text[:cut] + record["truncation_seperator"] + text[query:]
        if size("", short) <= max_bytes:
            return short, f"document cut to {cut - start} of {end - start} characters"
    return text, ""


def scrolls():
    result = []
    for name in list(SUMMARIES) + list(ANSWERS):
        outputs = ["reference één", "another reference"] if name in ("qasper", "squality") else ["(B) reference"]
        records = [scrolls_record(name, output) for output in outputs] + [scrolls_record(name, "last", 7)]
        cases = []
        for item, record in enumerate([records[0], records[-1]]):
            whole = size("", record["input"])
            for chat in (False, True):
                many = (whole, whole - 60, 260, 10) if name in ("gov_report", "qasper", "book_sum_sort") else ()
                for limit in (None, whole - 201, *many):
                    text, note = scrolls_prompt(name, record, chat, limit)
                    cases.append({"item": item, "chat": chat, "max_bytes": limit, "text": text, "note": note,
                                  "answer": record["output"] if text[-1].isspace() else " " + record["output"],
                                  "references": outputs if item == 0 else ["last"], "id": f"{name}/{record['id']}"})
        result.append({"task": f"zeroscrolls:{name}", "lines": records, "cases": cases,
                       "metric": SCROLLS_METRICS.get(name, "rouge"), "tokens": {**SUMMARIES, **ANSWERS}[name]})
    return result


# --------------------------------------------------------------------------------------------------------- L-Eval

EXAM = ("Now you are given a very long document. Please follow the instruction based on this document. For multi-choice "
        "questions, there is only a sinlge correct option. Please only provide the letter corresponding to the answer (like A or "
        "B) when answering. For other questions, please directly give the concise and accurate answer. ")
OPEN = ("Now you are given a very long document. Please follow the instruction after this document. These instructions may "
        "include summarizing a document, answering questions based on the document, or writing a required paragraph. ")
SYSTEM = {
    "gsm100": "Given several question answer pairs, you need to follow a similar format to answer the last question. Make sure the "
              "response is end with The answer is _ . ",
    "topic_retrieval_longchat": "Below is a record of our previous conversation on many different topics. You are the ASSISTANT, "
              "and I am the USER. At the beginning of each topic, the USER will say 'I would like to discuss the topic of "
              "<TOPIC>'. Memorize each <TOPIC>. At the end of the record, I will ask you to retrieve the first/second/third topic "
              "names. Now the record start. ",
    "coursera": "Now you are given a very long document. Please follow the instruction based on this document. For multi-choice "
              "questions, there could be a sinlge correct option or multiple correct options. Please only provide the letter "
              "corresponding to the answer (like A or AB) when answering. ",
    "codeU": "Now you are given a code base consisting of a large amount of functions and the corresponding comments. In the end, "
              "I will call some functions defined in the code base. Please carefully read these codes and comments and answer the "
              "question.",
    "sci_fi": "Now you are given a scientific fiction. I will ask you some questions and the answer should be \"True\" or "
              "\"False\". Notice that you should answer the question based on the evidence in the document instead of your "
              "background knowledge.",
}
CUT = ["quality", "codeU", "gsm100", "news_summ"]  # have a document that is long enough for the cut
CLOSED = ["coursera", "gsm100", "quality", "topic_retrieval_longchat", "tpo", "codeU", "sci_fi"]
OPEN_METRICS = {"financial_qa": "f1", "gov_report_summ": "rouge", "legal_contract_qa": "f1", "meeting_summ": "rouge",
                "multidoc_qa": "f1", "narrative_qa": "f1", "natural_question": "f1", "news_summ": "rouge",
                "paper_assistant": "rouge", "patent_summ": "rouge", "review_summ": "rouge", "scientific_qa": "f1",
                "tv_show_summ": "rouge"}


def leval_system(name):
    return SYSTEM.get(name, EXAM if name in CLOSED else OPEN)


def leval_text(name, document, inst, out, chat):
    if name in ("gsm100", "codeU", "topic_retrieval_longchat"):
        return document + "\n\n" + inst
    if name in CLOSED:
        return f"Document is as follows. {document} \nQuestion: {inst} " + "\nAnswer:"
    text = f"Document is as follows. {document} \nInstruction: {inst} The suggested output length is around {len(out.split())} words. "
    return text if chat else text + "\nAnswer:"


def leval_prompt(name, record, i, reference, chat, max_bytes=None):
    document, inst = record["input"], record["instructions"][i]
    make = lambda text: leval_text(name, text, inst, reference, chat)
    system = leval_system(name)
    if max_bytes is None or size(system, make(document)) <= max_bytes:
        return make(document), ""
    words = document.split(" ")
    kept = len(words) - 250
    while kept > 0:
        short = " ".join(words[-kept:] if name == "codeU" else words[:kept])
        if size(system, make(short)) <= max_bytes:
            return make(short), f"document cut to {kept} of {len(words)} words"
        kept -= 250
    return make(document), ""


def leval_items(name, records):
    """(id, line, instruction, reference, system, is the closed-book question, group) of every scored item."""
    automatic = [r for r in records if r["evaluation"] not in ("LLM", "human")] or records
    items, count = [], 0
    for line, record in enumerate(records):
        for i, out in enumerate(record["outputs"]):
            topic = ["first", "second", "third"][count % 3]
            count += 1
            if not any(record is r for r in automatic):
                continue
            item = f"{name}/{line}/{i}"
            group = topic if name == "topic_retrieval_longchat" else ""
            if name in ("coursera", "quality", "tpo"):
                out = re.sub(r"[^A-D]", "", out.split()[0])
            if name == "sci_fi":
                parts = out.lower().split("[fact:")
                items.append((item, line, i, parts[0].strip(), False, "loyalty"))
                if len(parts) > 1:
                    items.append((item + "/fact", line, i, parts[1].strip()[:-1].strip(), True, "fact"))
            else:
                items.append((item, line, i, out, False, group))
    return items


def leval_case(name, records, item, chat, max_bytes):
    identity, line, i, reference, fact, group = item
    if fact:
        text = records[line]["instructions"][i].replace(
            "based on the world described in the document.",
            "based on the real-world knowledge and facts up until your last training") + "\nAnswer:"
        note, system = "", ""
    else:
        system = leval_system(name)
        text, note = leval_prompt(name, records[line], i, reference, chat, max_bytes)
    return {"id": identity, "group": group, "system": system, "text": text, "note": note, "references": [reference],
            "answer": reference if text[-1].isspace() else " " + reference}


def leval_records(name):
    words = 620 if name in CUT else 9
    document = " ".join(f"wörd{i}{' ' if i % 97 == 0 else ''}{'{x}' if i % 50 == 0 else ''}" for i in range(words)) + "\n"
    kind = "exam" if name in CLOSED else OPEN_METRICS[name]
    outs = {"coursera": ["BD", "A", "ABC"], "quality": ["(B) Bees are\u00a0A.", "D\n", "(A)\u3000no"], "tpo": ["A", "C.", "D"],
            "sci_fi": ["True [fact: False]", "False [fact: False]", " True [Fact: True] "], "gsm100": ["18", "70000", "3"]}
    outs = outs.get(name, ["two words", "un été à  Paris", "three\u00a0short\twords"])
    insts = [f"Is it number {i}, True or False? Answer this question based on the world described in the document." for i in range(3)]
    records = [{"instructions": insts, "outputs": outs, "input": document, "source": name, "evaluation": kind},
               {"instructions": ["Short {document}?"], "outputs": outs[:1], "input": "short {inst} text", "source": name,
                "evaluation": kind}]
    if name == "multidoc_qa":
        records.insert(1, dict(records[0], evaluation="LLM"))
    if name == "paper_assistant":
        records = [dict(records[0], evaluation="human"), dict(records[1], evaluation="LLM")]
    return records


def leval():
    result = []
    for name in CLOSED + list(OPEN_METRICS):
        records = leval_records(name)
        items = leval_items(name, records)
        cases = []
        for number, item in enumerate(items):
            limits = (None, 4500, 3000, 40) if number == 0 and name in CUT else (None,)
            for chat in (False, True) if name not in CLOSED else (False,):
                for limit in limits:
                    cases.append({"item": number, "chat": chat, "max_bytes": limit, **leval_case(name, records, item, chat, limit)})
        result.append({"task": f"leval:{name}", "lines": records, "size": len(items), "cases": cases, "tokens": 512,
                       "metric": "exam" if name in CLOSED else OPEN_METRICS[name]})
    return result


# ------------------------------------------------------------------------------------------------ MMLU and C-Eval

CHINESE = {"law": "法学", "accountant": "注册会计师"}


def read_rows(text):
    return [row for row in csv.reader(io.StringIO(text, newline="")) if row]


def mmlu_rows(text):
    rows = read_rows(text)
    if rows[0] == ["question", "choice0", "choice1", "choice2", "choice3", "answer"]:
        return [row[:5] + ["ABCD"[int(row[5])]] for row in rows[1:]]
    return rows


def mmlu_example(row, answer):
    text = row[0]
    for letter, choice in zip("ABCD", row[1:5]):
        text += f"\n{letter}. {choice}"
    text += "\nAnswer:"
    return text + f" {row[5]}\n\n" if answer else text


def mmlu_header(subject):
    return "The following are multiple choice questions (with answers) about {}.\n\n".format(
        "".join(" " + word for word in subject.split("_")))


def ceval_rows(text):
    rows = read_rows(text)
    assert rows[0][:7] == ["id", "question", "A", "B", "C", "D", "answer"]
    return [row[1:7] for row in rows[1:]]


def ceval_example(row, answer):
    text = row[0] + "".join(f"\n{letter}. {choice}" for letter, choice in zip("ABCD", row[1:5])) + "\n答案："
    return text + row[5] + "\n\n" if answer else text


def ceval_header(subject, names=CHINESE):
    return f"以下是中国关于{names[subject]}考试的单项选择题，请选出其中的正确答案。\n\n"


def exam_prompt(header, example, dev, row, shots, max_bytes=None):
    k = shots
    make = lambda count: header + "".join(example(r, True) for r in dev[:count]) + example(row, False)
    while k > 0 and max_bytes is not None and size("", make(k)) > max_bytes:
        k -= 1
    return make(k), "" if k == shots else f"{k} of {shots} shots"


def exam_cases(files, split, rows, example, header, prefix, limits):
    cases = []
    for shots in (5, 2, 0):
        item = 0
        for name in sorted(files):
            if not name.startswith(split):
                continue
            subject = name[len(split) + 1:-len(f"_{split}.csv")]
            dev = rows(files[f"dev/{subject}_dev.csv"])
            for number, row in enumerate(rows(files[name])):
                for limit in (None, *limits) if shots == 5 else (None,):
                    text, note = exam_prompt(header(subject), example, dev, row, shots, limit)
                    cases.append({"item": item, "shots": shots, "max_bytes": limit, "id": f"{subject}/{number}", "group": subject,
                                  "text": text, "note": note, "answer": prefix + row[5], "references": [row[5]]})
                item += 1
    return cases


def mmlu():
    files = {}
    for split in ("dev", "test"):
        folder = os.path.join(FOLDER, "..", "data", "mmlu", split)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                files[f"{split}/{name}"] = file.read()
    original = {}
    for name, text in files.items():
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\r\n").writerows(mmlu_rows(text))
        original[name] = out.getvalue()
    cases = exam_cases(files, "test", mmlu_rows, mmlu_example, mmlu_header, " ", (1300, 900, 600, 10))
    return {"original": original, "cases": cases}


def ceval():
    files = {}
    for subject in CHINESE:
        for split, count in (("dev", 5), ("val", 2)):
            out = io.StringIO(newline="")
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(["id", "question", "A", "B", "C", "D", "answer"] + (["explanation"] if split == "dev" else []))
            for i in range(count):
                question = f"第{i}题，“{subject}”的问题\n是 \"什么\"？____"
                row = [str(i), question, f"  选项{i}", "乙,丙", "12\" 丁", "", "DCBA"[i % 4]]
                writer.writerow(row + (["因为\n所以"] if split == "dev" else []))
            # The byte order mark that some editors put ahead of the text.
            files[f"{split}/{subject}_{split}.csv"] = ("\ufeff" if split == "val" and subject == "law" else "") + out.getvalue()
    stripped = {name: text.lstrip("\ufeff") for name, text in files.items()}
    cases = exam_cases(stripped, "val", ceval_rows, ceval_example, ceval_header, "", (700, 300))
    return {"files": files, "cases": cases}


# -------------------------------------------------------------------------------------------------- published data

class Digest:
    """SHA-256 over id, system, text, answer and references of items in order, each with a line feed behind it."""

    def __init__(self):
        self.hash, self.items = hashlib.sha256(), 0

    def add(self, *texts):
        for text in texts:
            self.hash.update(text.encode() + b"\n")
        self.items += 1

    def result(self):
        return {"items": self.items, "sha256": self.hash.hexdigest()}


def archive_digest(path, split, rows, example, header, prefix):
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                files[member.name] = archive.extractfile(member).read().decode()
    digest = Digest()
    for subject in sorted(name[len(split) + 1:-len(f"_{split}.csv")] for name in files if name.startswith(split + "/")):
        dev = rows(files[f"dev/{subject}_dev.csv"])
        for number, row in enumerate(rows(files[f"{split}/{subject}_{split}.csv"])):
            text, _ = exam_prompt(header(subject), example, dev, row, 5)
            digest.add(f"{subject}/{number}", "", text, prefix + row[5], row[5])
    return digest.result()


def published(folder, mapping):
    with open(mapping, encoding="utf-8") as file:
        names = {key: value[1] for key, value in json.load(file).items()}
    result = {
        "mmlu": archive_digest(os.path.join(folder, "mmlu", "mmlu-dev-test.tar.gz"), "test", mmlu_rows, mmlu_example, mmlu_header, " "),
        "ceval": archive_digest(os.path.join(folder, "ceval", "ceval-dev-val.tar.gz"), "val", ceval_rows, ceval_example,
                                lambda subject: ceval_header(subject, names), ""),
    }
    for file in sorted(os.listdir(os.path.join(folder, "leval"))):
        name = file.split(".")[0]
        with gzip.open(os.path.join(folder, "leval", file), "rt", encoding="utf-8", newline="\n") as lines:
            records = [json.loads(line) for line in lines]
        digest = Digest()
        for item in leval_items(name, records):
            case = leval_case(name, records, item, False, None)
            digest.add(case["id"], case["system"], case["text"], case["answer"], *case["references"])
        result[f"leval:{name}"] = digest.result()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with mmlu/, ceval/ and leval/")
    parser.add_argument("--subject-mapping", help="subject_mapping.json of hkust-nlp/ceval, needed with --data")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    golden = {"zero_scrolls": scrolls(), "leval": leval(), "mmlu": mmlu(), "ceval": ceval()}
    # A long text stands as its digest, to keep the file small.
    for family in [*golden["zero_scrolls"], *golden["leval"], golden["mmlu"], golden["ceval"]]:
        for case in family["cases"]:
            if len(case["text"]) > 800:
                case["text_sha256"] = hashlib.sha256(case.pop("text").encode()).hexdigest()
    if options.data:
        golden["published"] = published(options.data, options.subject_mapping)
    with open(options.out, "w", encoding="utf-8") as out:
        json.dump(golden, out, indent=0, ensure_ascii=False)
        out.write("\n")


if __name__ == "__main__":
    main()
