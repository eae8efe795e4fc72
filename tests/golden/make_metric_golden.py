#!/usr/bin/env python3
"""Golden scores for core/tasks/scoring and stems for core/tasks/porter_stemmer.

ROUGE: google-research's rouge_score (default tokenizer; NLTK's PorterStemmer with --stem). ASCII: Unidecode. \\b of
lost-in-the-middle: the package regex. Concordance: lifelines' rule by counting pairs. The rest is a few lines from each
benchmark's description (lost-in-the-middle, RULER, ZeroSCROLLS, L-Eval), on Python's own str, re and float.
Texts: short excerpts of L-Eval (GPL-3.0) and NaturalQuestions-Open (CC BY-SA 3.0) from --data, and words of theirs in a
seeded random order.

Needs rouge_score, nltk, Unidecode, regex.
Example: make_metric_golden.py --data /path/to/data --out metric_scores.json
"""
import argparse
import gzip
import json
import random
import re
import string
from collections import Counter
from pathlib import Path

import regex
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from unidecode import unidecode

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
parser.add_argument("--out", type=Path, required=True)
options = parser.parse_args()
rng = random.Random(20240607)


# --- the metrics ------------------------------------------------------------------------------------------------------
def normalise(text, engine=re, lower=True):
    text = text.lower() if lower else text
    text = "".join(c for c in text if c not in set(string.punctuation))
    return " ".join(engine.sub(r"\b(a|an|the)\b", " ", text).split())


def contains(ref, out):
    return float(ref.lower() in out.lower())


def best_subspan(ref, out):
    return float(normalise(ref, regex) in normalise(out.split("\n")[0].strip(), regex))


def f1(ref, out, ascii_):
    wanted, given = ([unidecode(normalise(t)) if ascii_ else normalise(t)][0].split() for t in (ref, out))
    same = sum((Counter(given) & Counter(wanted)).values())
    if not same:
        return 0.0
    precision, recall = same / len(given), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


SCORERS = {s: rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=s) for s in (True, False)}


def rouge_gm(refs, out, stem):
    scores = [SCORERS[stem].score(ref, out) for ref in refs]
    product = 1.0
    for key in ("rouge1", "rouge2", "rougeL"):
        product *= max(s[key].fmeasure for s in scores)
    return product ** (1 / 3)


def choice_letter(ref, out):
    found = [re.search(r"\b[A-D]\b", t) for t in (ref, out)]
    return float(bool(found[0] and found[1] and found[0].group() == found[1].group()))


def percentage(text):
    hit = re.search(r"\d+\.?\d*%", text)
    return float(hit.group()[:-1]) if hit else None


def exp_similarity(ref, out):
    p, q = percentage(ref), percentage(out)
    return 0.0 if p is None or q is None else 2 ** (-10 * abs(p - q) / 100)


def numbers(text):
    return [int(w) for w in re.sub(r"[^0-9\s,]", "", text).replace(",", " ").split()]


def concordance(ref, out):
    wanted, given = numbers(ref), numbers(out)
    if not wanted or sorted(wanted) != sorted(given):
        return 0.0
    n = len(wanted)
    place = {v: i for i, v in enumerate(wanted)}
    right = sum(place[given[i]] < place[given[j]] for i in range(n) for j in range(i + 1, n))
    return right / (n * (n - 1) / 2) if n > 1 else 1.0


def em(ref, out):
    if all(c in "ABCD" for c in normalise(ref, lower=False)):
        wanted, given = normalise(ref, lower=False), normalise(out, lower=False)
        return 1.0 if wanted == given else 0.25 if set(given) <= set(wanted) else 0.0
    try:
        return float(float(ref) == float(out))
    except ValueError:
        line = next((line for line in out.split("\n") if len(line) > 1), out)
        return float(ref.lower().replace(" ", "") in line.lower().replace(" ", ""))


def gt_letters(ref):
    return re.sub("[^A-D]", "", ref.split()[0]) or "A"


def one_letter(ref, out):
    return em(gt_letters(ref), out if out in "ABCD" else next((c for c in out if c in "ABCD"), "A"))


def some_letters(ref, out):
    if out in "ABCD":
        return em(gt_letters(ref), out)
    lead = re.match("[A-D]*", out).group()
    if len(lead) < 2:
        rest = out[len(lead):].split("Question")[0]
        lead += re.sub("[^A-D]", "", " ".join(re.findall(r"\s*[A-Z](?=[\s.)])", rest)))
    return em(gt_letters(ref), "".join(sorted(set(lead))) or "A")


def math_number(text):
    hit = re.search(r"The answer is (\S+)", text)
    words = text.split("\n\n")[0].split(" ")
    word = hit.group(1) if hit else next((w for w in reversed(words) if any(c.isdigit() for c in w)), "")
    return "".join(c for c in word.split(".")[0] if c.isdigit())


def gt_code(text):
    text = re.sub(r"\s+", " ", text)
    for what, to in ((",", ""), ("'", ""), ("\\", ""), (".0", ""), ("] [", "]["), ("[ [", "[["), ("] ]", "]]")):
        text = text.replace(what, to)
    return text


def code(ref, out):
    size = len(ref.split()) + 3
    text = gt_code(out)
    for what in ("will be", "of the code", "is", "would be", "the value of", "the result of", "printed"):
        text = text.replace(what, "")
    if "the final output" in text:
        words = re.split(r"\s+", text.split("the final output")[-1])[:size]
    else:
        words = re.split(r"\s+", text)[-size:]
    return em(gt_code(ref), " ".join(words))


def judged(part):
    for word in part.split():
        if "true" in word:
            return "true"
        if "false" in word:
            return "false"
    return "<error>"


def judgement(ref, out):
    parts = [t.lower().split("[fact:") for t in (ref, out)]
    scores = [em(parts[0][0].strip(), judged(parts[1][0]))]
    if len(parts[0]) > 1:
        fact = judged(parts[1][1][:-1]) if len(parts[1]) > 1 else "<error>"
        scores.append(em(parts[0][1][:-1].strip(), fact))
    return sum(scores) / len(scores)


def best(metric):
    return lambda refs, out: max(metric(ref, out) for ref in refs)


METRICS = {
    "contains": best(contains),
    "best_subspan_em": best(best_subspan),
    "contains_all": lambda refs, out: sum(contains(ref, out) for ref in refs) / len(refs),
    "rouge_gm": lambda refs, out: rouge_gm(refs, out, True),
    "rouge_gm_unstemmed": lambda refs, out: rouge_gm(refs, out, False),
    "f1": best(lambda ref, out: f1(ref, out, True)),
    "f1_leval": best(lambda ref, out: f1(ref, out, False)),
    "choice_letter": best(choice_letter),
    "exp_similarity": best(exp_similarity),
    "concordance_index": best(concordance),
    "exam_leval": best(em),
    "exam_one_letter": best(one_letter),
    "exam_some_letters": best(some_letters),
    "exam_math": best(lambda ref, out: em(math_number(ref), math_number(out))),
    "exam_code": best(code),
    "exam_judgement": best(judgement),
}
TEXT_METRICS = list(METRICS)[:7] + ["exam_leval"]


# --- the texts --------------------------------------------------------------------------------------------------------
def records(name):
    with gzip.open(options.data / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


leval = {name: records(f"leval/{name}.jsonl.gz") for name in
         ("scientific_qa", "multidoc_qa", "news_summ", "gov_report_summ", "quality", "coursera", "tpo")}
answers = [a for name in ("scientific_qa", "multidoc_qa") for r in leval[name] for a in r["outputs"]]
summaries = [a for name in ("news_summ", "gov_report_summ") for r in leval[name] for a in r["outputs"]]
questions = records("lost-in-the-middle/nq-open-oracle.jsonl.gz")
vocabulary = sorted({w for t in summaries + answers for w in re.findall("[A-Za-z]{2,}", t)})
foreign = [w for q in questions for c in q["ctxs"] for w in c["text"].split() if not w.isascii()]


def piece(words, size):
    start = rng.randrange(max(1, len(words) - size))
    return words[start:start + size]


def disturbed(words):
    out = [w for w in words if rng.random() < 0.8]
    for _ in range(rng.randrange(4)):
        out.insert(rng.randrange(len(out) + 1), rng.choice(foreign if rng.random() < 0.3 else vocabulary))
    if rng.random() < 0.3:
        rng.shuffle(out)
    return [w.upper() if rng.random() < 0.05 else w for w in out]


SPACES = [" ", " ", " ", " ", "  ", "\u00a0", "\t", " — ", ", ", "-", "\u3000", "\x1c", "\u200b", "’s "]


def text_pairs():
    for _ in range(250):  # words in random order: the ROUGE and F1 of many overlaps
        words = [rng.choice(vocabulary) for _ in range(rng.randrange(3, 14))]
        yield [" ".join(words)], " ".join(disturbed(words))
    for _ in range(150):
        words = piece(rng.choice(summaries).split(), rng.randrange(6, 24))
        refs = [" ".join(words)]
        if rng.random() < 0.4:
            refs.append(" ".join(disturbed(words)))
        yield refs, rng.choice(SPACES).join(disturbed(words))
    for _ in range(150):
        answer = " ".join(piece(rng.choice(answers).split(), 12))
        yield [answer], " ".join(disturbed(answer.split()))
    for _ in range(150):
        question = rng.choice(questions)
        golds = [g for g in question["answers"] if len(g) < 60][:3] or ["none"]
        context = question["ctxs"][0]["text"]
        at = max(context.find(golds[0]), 0)
        out = context[max(0, at - rng.randrange(40)):at + rng.randrange(10, 60)]
        yield golds, rng.choice(["", " ", "The answer is: ", "\n", "**"]) + out + rng.choice(["", "\nmore", ".\n\n"])
    for _ in range(60):
        words = [rng.choice(foreign) for _ in range(rng.randrange(1, 5))]
        yield [" ".join(words)], rng.choice([str, unidecode, str.upper, str.lower])(" ".join(disturbed(words) or words))


WRITTEN_TEXTS = [
    (["Theo"], "theo"), (["The O"], "Theo"), (["the"], "anything"), (["!?"], ""), ([""], "x"), (["x"], ""), (["a"], "b"),
    (["the cat"], "A  cat, the"), (["an apple"], "banapple"), (["U.S.A."], "the usa won"), (["well-known"], "wellknown"),
    (["first"], "\nfirst"), (["first"], "  first  \nsecond"), (["second"], "first\nsecond"), (["second"], "first\r second"),
    (["a\u0301"], "\u00e1"), (["a\u0301 b"], "b"), (["the\u0301"], "x"), (["\u24d0 a"], "\u24d0"), (["a\u24d0"], "b"),
    (["naïve café"], "naive cafe"), (["“quoted”"], "quoted"), (["“quoted”"], '"quoted"'), (["it’s"], "its"), (["it’s"], "it's"),
    (["北京"], "Bei Jing"), (["北京"], "bei jing"), (["東京 タワー"], "Dong Jing tawa-"), (["Москва"], "Moskva"), (["½ cup"], "1/2 cup"),
    (["İstanbul"], "i\u0307stanbul"), (["İstanbul"], "istanbul"), (["STRASSE"], "straße"), (["ǅ"], "ǆ"), (["K"], "k"), (["5\u212a run"], "5k run"),
    (["line\u2028break"], "line break"), (["par\u2029a"], "par"), (["\U0001f600 smile"], "smile"), (["x\u00ady"], "xy"), (["1\u20442"], "1/2"),
    (["caresses ponies ties"], "caress poni tie"), (["flies dies died spied"], "fly die spy"), (["skies dying news"], "sky die new"),
    (["agreed feed plastered bled motoring sing"], "agree feeds plaster bleed motor sings"), (["a b c d e f"], "a c e b d f"),
    (["the the the"], "the"), (["one two three four"], "four three two one"), (["same same same"], "same same"),
    (["police killed the gunman"], "police kill the gunman"), (["x"], "x"), (["x y"], "x y"), (["x y z"], "x y z"),
    (["one\ntwo\nthree"], "one two three"), (["don't stop-gap"], "dont stop gap"), (["A1 b2"], "a1 B2"), (["éclair"], "clair"),
    (["12"], "12.0"), (["12"], " 12 "), (["12"], "The 12"), (["1_000"], "1000"), (["inf"], "Infinity"), (["nan"], "nan"), (["1e3"], "1000"),
    (["٣"], "3"), ([".5"], "0.5"), (["5."], "5"), (["."], "."), (["1__0"], "10"), (["+7"], "7"), (["-0"], "0"), (["1e999"], "inf"),
    (["true or false"], "x\nTrueOrFalse"), (["ab"], "a\nb\nab"), (["ab"], "\n\nab"), (["Ab c"], "xx\nabc"), (["x y"], "z\u00a0xy"),
    (["AB"], "A"), (["AB"], "BA"), (["AB"], "A B"), (["AB"], ""), (["AB"], "ABE"), (["AB"], "A, B."), (["A"], "the A"), (["A"], "a"),
]


def random_choice_texts():
    words = ["Answer", "A", "B", "C", "D", "A.", "(B)", "C)", "D:", "_A", "A_", "ABBA", "Because", "é", "A\u0301", "BÄ", "α", "D2", "²A",
             "the", "Question", "According", "to", "E", "\n", "A\n", "AB", "ACD", "BC", "and", "A,", "\u00a0D\u00a0", "“C”"]
    return rng.choice([" ", "", " ", "\n"]).join(rng.choice(words) for _ in range(rng.randrange(0, 6)))


def gold_letters():
    raw = rng.choice(leval[rng.choice(["quality", "coursera", "tpo"])])["outputs"]
    return " ".join(rng.choice(raw).split()[:5])


def random_percentage():
    number = rng.choice([f"{rng.randrange(101)}%", f"{rng.random() * 100:.1f}%", f"{rng.randrange(101)}.%", f"{rng.randrange(100)} %",
                         "12.5.75%", "١٢%", "1e2%", "7", "", "50%60%", "v2.30%", "100%.", "3.3.3%x", "0.5 of 20%", "９%", "%5"])
    return rng.choice(["", "About ", "It is 3 of 4, so ", "~"]) + number + rng.choice(["", " of reviews", ".", "\n80%"])


def random_list(n):
    order = list(range(1, n + 1))
    rng.shuffle(order)
    if rng.random() < 0.15:
        order[rng.randrange(n)] = rng.choice([1, 99, 0])
    if rng.random() < 0.1:
        order.pop()
    text = rng.choice([", ", ",", " ", "\n", " , ", ",\u00a0"]).join(f"{rng.choice(['', '', '0'])}{v}" for v in order)
    return rng.choice(["", "", "Order: ", "["]) + text + rng.choice(["", ".", "]", " (done)"])


def random_math():
    n = rng.randrange(2000)
    return rng.choice([f"The answer is {n}", f"The answer is {n}.", f"so {n // 3} + {n} = {n}.", f"#### {n}", f"${n:,}.50 left", f"{n} apples",
                       f"The answer is: {n}", f"The answer is  {n}", f"it takes {n} days\n\nThe next 7", f"A 1\n{n}", "none at all", "",
                       f"The answer is x. The answer is {n}", f"{n}kg and more", f"-{n}", f"{n // 7}.{n}"])


def random_code():
    value = rng.choice(["[1, 2]", "['a', 'b']", "12.0", "[[1] [2]]", "True", "hello world", "{'x': 1}", "-3"])
    out = rng.choice(["The value of x is {}", "the final output is {} .", "{}", "It will be printed {}\n", " {} ", "so {}\n\nthe final output: {} and then more words",
                      "the result of the code would be {}", "this", "", "\t{}\u00a0"])
    return value, out.replace("{}", value if rng.random() < 0.8 else "7")


def random_judgement(full):
    words = ["True", "false", "I think it is true.", "Untrue", "unsure", "", "FALSE!", "neither true nor false"]
    if not full and rng.random() < 0.2:
        return rng.choice(words)
    fact = rng.choice(["true", "false"] if full else words)
    return f"{rng.choice(['True', 'False'] if full else words)} [fact: {fact}]"


def special_pairs():
    yield from (("choice_letter", [rng.choice(["A", "(B)", "C) x", "D."])], random_choice_texts()) for _ in range(220))
    yield from (("exam_one_letter", [gold_letters()], random_choice_texts()) for _ in range(220))
    yield from (("exam_some_letters", [gold_letters()], random_choice_texts()) for _ in range(220))
    yield from (("exp_similarity", [f"{rng.randrange(101)}%"], random_percentage()) for _ in range(220))
    for _ in range(220):
        n = rng.randrange(1, 9)
        order = list(range(1, n + 1))
        rng.shuffle(order)
        yield "concordance_index", [", ".join(map(str, order))], random_list(n)
    for _ in range(220):
        ref = random_math()
        yield "exam_math", [ref], ref if rng.random() < 0.3 else random_math()
    for _ in range(220):
        ref, out = random_code()
        yield "exam_code", [ref], out
    yield from (("exam_judgement", [random_judgement(True)], random_judgement(False)) for _ in range(220))


def value(number):
    return round(number, 12)


def excerpt_is_fair(text):  # final sigma: folded in the program, written as Python has it here
    return "ς" not in text.lower() and len(text) < 500


texts = [(refs, out) for refs, out in [*WRITTEN_TEXTS, *text_pairs()] if all(map(excerpt_is_fair, [*refs, out]))]
stemmer = PorterStemmer()
stem_words = sorted(rng.sample(sorted({w.lower() for w in vocabulary if len(w) > 3}), 900) + """
sky skies dying lying tying news innings inning outings outing cannings canning howe proceed exceed succeed ties dies
died flies spied spy toy enjoy happy say by syzygy yyyyyy yell hopping tanned falling hissing fizzed failing filing
relational conditional rational valenci digitizer conformabli radically differentli vileli analogousli vietnamization
predication operator feudalism decisiveness hopefulness callousness formaliti sensitiviti sensibiliti archaeology geology
theology hopefully usefully triplicate formative formalize electriciti electrical hopeful goodness revival allowance
inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologous
communism activate angularity effective bowdlerize probate rate cease controll roll ed ing aed using 1990s 3rd
alli ally really totally bbed agreeing freed seed oxing box1ing ion sion""".split())
golden = {
    "metrics": TEXT_METRICS,
    "texts": [[refs, out, [value(METRICS[m](refs, out)) for m in TEXT_METRICS]] for refs, out in texts],
    "special": [[m, refs, out, value(METRICS[m](refs, out))] for m, refs, out in special_pairs()],
    "stems": " ".join(f"{w}:{stemmer.stem(w)}" for w in stem_words),
    "ascii": [[w, unidecode(w)] for w in rng.sample(sorted(set(foreign)), 250)],
}
lines = [json.dumps({"metrics": golden["metrics"]}, ensure_ascii=False)[:-1]]
for key in ("texts", "special", "ascii"):
    lines.append(f'"{key}": [' + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in golden[key]) + "]")
lines.append(f'"stems": {json.dumps(golden["stems"])}' + "}")
options.out.write_text(",\n".join(lines) + "\n", encoding="utf-8")
