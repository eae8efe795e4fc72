#!/usr/bin/env python3
"""Golden token ids for tests/core/text, made with the tokenizers library (0.23.3) and transformers (5.24.0).

  make_tokenizer_golden.py --tiny --out tests/golden
      trains five small tokenizers (GPT-2, SmolLM, Qwen 2, Llama 3 style, and one with every flag of added tokens) and
      writes tokenizer_tiny_<family>.json: the whole tokenizer.json and the ids of the strings below.
  make_tokenizer_golden.py --gguf FILE --out tests/golden
      builds the tokenizer of the SmolLM2 GGUF file, with the Digits(individual) step that transformers' conversion
      leaves out, and writes tokenizer_smollm2.json: ids only.

Every case is [text, ids] or [text, ids, ids_special]: special tokens as ordinary text (encode_special_tokens=True), and
parsed where that gives other ids.
--random N adds N more random strings, for a longer comparison by hand.
"""
import argparse
import json
import os
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
MISSING = b"\x04\x06\x13\x14\x16\x1d\xc0\xc1\xf1\xf2\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff"  # as in SmolLM2

WORDS = ["the", "The", "THE", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "key", "value", "Extract",
         "JSON", "object", "position", "interpolation", "rotary", "naïve", "café", "Straße", "façade", "don't", "They're",
         "THEY'RE", "we'll", "I'd", "you've", "isn't", "O'Brien", "rock'n'roll", "'twas", "unreachable"]
SCRIPTS = ["Der schnelle braune Fuchs springt über den faulen Hund.", "Voix ambiguë d’un cœur qui au zéphyr préfère les jattes",
           "Съешь ещё этих мягких французских булок", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία", "敏捷的棕色狐狸跳过了懒狗。",
           "いろはにほへと ちりぬるを", "カタカナ テキスト ﾊﾝｶｸ", "다람쥐 헌 쳇바퀴에 타고파", "한국어 토큰", "نص حكيم له سر قاطع وذو شأن عظيم",
           "דג סקרן שט בים מאוכזב", "ऋषियों को सताने वाले दुष्ट", "আমি বাংলায় গান গাই", "நான் தமிழ் பேசுகிறேன்", "ภาษาไทยไม่มีช่องว่าง",
           "ქართული ენა", "Հայերեն լեզու", "አማርኛ ቋንቋ", "ខ្មែរ អក្សរ", "မြန်မာဘာသာ", "ᠮᠣᠩᠭᠣᠯ᠎ᠠ", "ᏣᎳᎩ", "ᚠᚢᚦᚨᚱᚲ", "𐌰𐌱𐌲 Gothic",
           "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝕞𝕒𝕥𝕙 𝟘𝟙𝟚", "𠀀𠀁𪚥 CJK B", "ﬁne ﬂow ﬀ", "Ǆ ǅ ǆ", "İstanbul ıslak", "ſeſſion 'ſ"]
CODE = ["->", "(x):\n", "\n\nword", "def f(x):\n    return x**2\n", "for (int i=0;i<n;++i){a[i]+=b[i];}", "std::vector<int>{1,2,3}",
        "<div class=\"a\">&nbsp;</div>", "SELECT * FROM t WHERE a='b';", "#include <stdio.h>\r\n", "a\tb\t\tc", "if x:\n\tpass\n\n\n\nelse:",
        "https://example.org/a?b=c&d=%20#e", "user@example.org", "C:\\path\\file", "{\"key\": \"value\", \"n\": -1.5e-10}",
        "x = 'it''s'", "/* c */ // d", "=>", "!==", "<<=", "...", "…", "--", "—", "```python\nprint()\n```", "$HOME/${X}", "λx.x", "∀x∈ℝ: ⌈x⌉",
        "snake_case camelCase PascalCase SCREAMING_CASE", "0x1F 0b101 1_000_000", "1.2.3-rc4", "\\n\\t\\\\"]
SPACES = ["", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", "\t\t", " \n", "\n ", " \n \n ", "   word", "word   ", "a  b", "a   b",
          "a \n b", "a\n\n b", "a \t b", "trailing ", "trailing  ", " leading", "a\u00a0b", "\u00a0", "\u00a0\u00a0", "a \u00a0 b", "\u2028",
          "a\u2028b", "a\u2029\u2029b", "\u3000", "全\u3000角", "a\u3000\u3000b", "\x1c", "a\x1cb", "\x1c\x1c", " \x1c ", "\x1d", "\x1e", "\x1f",
          "a\x1e\x1fb", "\x0b", "\x0c", "a\x0b\x0cb", "\x85", "a\x85b", "\u180e", "a\u180eb", " \u180e ", "\u200b", "a\u200bb",
          "\u200b \u200b", "\u2000\u2001\u2002", "\u202f", "1\u202f000", "\u205f", "\u2060", "\ufeff", "\ufeffBOM", "\u1680", "a\u1680\u1680b",
          "\r\n\r\n", "a\r\n\r\nb", "  \r\n  ", "\n\n\n", "\n \n", "x\n  y", "x  \n", "\t \t", "\u00ad", "soft\u00adhyphen", "\x00", "a\x00b",
          "\x7f", "\x01\x02\x03", "\x04", "a\x04b", "\x06!\x13?", "\x14\x16", "\x1b[31m"]
DIGITS = ["1234567", "0", "00", "3.14159", "1,000,000", "12abc34", "abc123", "2024-01-02", "a1b2c3", "1 2 3", " 1", "  12", "١٢٣٤", "۱۲۳", "१२३",
          "𝟏𝟐𝟑", "１２３", "x²", "x²³", "¹²³", "₁₂₃", "½", "¼½¾", "3½", "Ⅳ", "ⅣⅩ", "ⅷ", "①②③", "㊀", "一二三", "〇", "௧௰", "፩፪", "٣.١٤", "5th", "1st2nd",
          "٠ ١", "½ cup", "Ⅻ.", "𐄇", "🄁", "৴", "½½", "\U00010d40", "\U00011de0", "\U0001ccf0"]
CONTRACTIONS = ["They're / THEY'RE", "it's IT'S It'S", "we've WE'VE", "I'm I'M", "he'll HE'LL", "she'd SHE'D", "can't CAN'T", "'s", "'S", "'", "''",
                "'re'RE", "’s", "don’t", "a's's", "x'ſ", "x'\u017f y", "'sure", "'tis", "'LLama", "it 's", "l'été", "\u2019re", "'S't'RE", "K'\u212a"]
EMOJI = ["🙂", "🙂🙃", "hello 🙂 world", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷", "❤️", "✊🏿✊", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "☃", "🧑‍💻 codes", "a🙂b", "🙂\n🙂", "1️⃣", "©®™", "♠♥", "🫠", "\U0001fae8"]
MARKS = ["e\u0301", "é", "cafe\u0301", "A\u030a Å Å", "o\u0302\u0323", "ộ", "q\u0307\u0323", "\u0301", " \u0301", "a\u0301\u0301\u0301", "ha\u0308tte",
         "\u1100\u1161\u11a8", "각", "가\u11a8", "\u1100\u1161", "\u0915\u093c", "क़", "\u09c7\u09be", "\u0b47\u0b56", "Ω Ω", "K K", "ﷺ", "\u0344",
         "\u0f71\u0f72", "\u0f73", "\u2adc", "\u1e9b\u0323", "Z\u0351\u036b\u0343a\u0363lgo\u033d", "n\u0303 ñ", "x\u20e3", "\u0958", "\ufb1d",
         "\u05d0\u05bc", "豈更車", "\U0001d15e", "\u1112\u1161\u11ab\u1100\u1173\u11af", "e\u0301 <|im_start|> e\u0301", "a\u0327\u0301b", "\u212b"]
CONTROL = ["<|im_start|>", "<|im_start|>user\nhi<|im_end|>\n", "a<|im_start|>b", " <|im_start|> ", "<|im_start|><|im_end|>", "<|im_start", "im_start|>",
           "<|im_start|", "<<|im_start|>>", "<|IM_START|>", "<|endoftext|>", "text<|endoftext|>", "<|endoftext|><|endoftext|>", "x <|im_end|>",
           "<|im_end|>\n<|im_start|>assistant\n", "<repo_name>", "<file_sep>x", "<|begin_of_text|>", "<|begin_of_text|>x", "<s>", "</s>", "[PAD]", "<tool_call>",
           "a<tool_call>b</tool_call>", "  <tool_call>  ", "LSTRIP", "a  LSTRIP  b", "RSTRIP", "a  RSTRIP  b", "RSTRIP\n\u00a0x", "BOTH", "a \u3000BOTH\t\nb",
           "SINGLE", "aSINGLE", "SINGLEb", "a SINGLE b", "_SINGLE", "éSINGLE", "SINGLE\u200d", "ⓐSINGLE", "-SINGLE-", "NORM\u00e9", "NORMe\u0301", "xNORMe\u0301y",
           "RSTRIP LSTRIP RSTRIP", "BOTH BOTH", "BOTHBOTH", "LONG", "LONGER", "LONGEST", "LONGES", "<|im_start|>SINGLE", "a <|im_end|>  <|im_start|> b",
           "SPECSTRIP", "a  SPECSTRIP  b", " \n SPECSTRIP \n ", "RSTRIP   SPECSTRIP", "NORMe\u0301<|im_end|>"]
LONG = ["a" * 300, " " * 200, "\n" * 100, "=" * 250, "1" * 120, "ab" * 150, "é" * 120, "🙂" * 40, "한" * 80, "\u0301" * 60, " a" * 100, "\t" * 70, "-" * 3 + " " * 3 + "-" * 300,
        "\r\n" * 60, "的" * 100, "aA" * 90 + "!" * 90, " \n" * 50, "x" + " " * 99 + "y", "x" + "\u00a0" * 50 + "y", "\u3000" * 50, "don't" * 40]


def random_strings(count, seed):
    """Characters of many kinds next to each other: where the kinds meet is where tokenizers disagree."""
    rng = random.Random(seed)
    pool = list("abcXYZ  \n\r\t'\"!?.,<|>_-0123456789") + list("éßñ²½Ⅳ٣３的한あя\u00a0\u2028\u3000\u200b\x1c\x85\u0301\u0308🙂👍🏽\u200d\ufe0f") + [
        "'s", "'RE", "'ll", "  ", "\r\n", "\n\n", " \n", "the", " the", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "e\u0301", "\u1100\u1161", "\u11a8", "'ſ",
        "LSTRIP", "RSTRIP", "BOTH", "SINGLE", "NORMe\u0301", "LONG", "EST", "<tool_call>", "SPECSTRIP", "\u180e"]
    out = []
    for _ in range(count):
        if rng.random() < 0.15:  # any character of Unicode
            chars = [chr(c) for c in (rng.choice([rng.randrange(0x300), rng.randrange(0x3000), rng.randrange(0x20000), rng.randrange(0x110000)])
                                      for _ in range(rng.randrange(1, 12))) if not 0xD800 <= c < 0xE000]
        else:
            chars = [rng.choice(pool) for _ in range(rng.randrange(1, 24))]
        out.append("".join(chars))
    return out


def strings(extra):
    texts = SCRIPTS + CODE + SPACES + DIGITS + CONTRACTIONS + EMOJI + MARKS + CONTROL + LONG
    texts.append("\n".join(SCRIPTS))
    texts.append(" ".join(CODE + CONTRACTIONS + EMOJI))
    texts.append("".join(DIGITS + MARKS))
    texts += random_strings(60, 19)
    texts += random_strings(extra, 20)
    return list(dict.fromkeys(texts))


def cases(tokenizer, texts):
    def ids(text, parse):
        tokenizer.encode_special_tokens = not parse
        return tokenizer.encode(text, add_special_tokens=False).ids
    out = []
    for text in texts:
        plain, parsed = ids(text, False), ids(text, True)
        out.append([text, plain] if plain == parsed else [text, plain, parsed])
    return out


def write(path, value):
    # One case a line, so that a change of the golden file can be read.
    head = {k: v for k, v in value.items() if k != "cases"}
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in value["cases"])
    with open(path, "w", encoding="ascii") as f:
        f.write(json.dumps(head, separators=(",", ":"))[:-1] + ',"cases":[\n' + lines + "\n]}\n")
    print(f"{path}: {len(value['cases'])} strings, {os.path.getsize(path)} bytes")


def corpus():
    rng = random.Random(7)
    lines = [" ".join(rng.choice(WORDS[:-1]) for _ in range(12)) + rng.choice([".", "!", "?\n", "\r\n"]) for _ in range(200)]
    return lines + SCRIPTS * 3 + CODE * 3 + CONTRACTIONS * 2 + EMOJI + DIGITS


def special(text):
    return AddedToken(text, special=True, normalized=False)


FAMILIES = {
    "gpt2": dict(pre=lambda: pre_tokenizers.ByteLevel(add_prefix_space=False), added=[special("<|endoftext|>")]),
    "smollm": dict(pre=lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]),
                   added=[special("<|endoftext|>"), special("<|im_start|>"), special("<|im_end|>"), special("<repo_name>")], missing=MISSING),
    "qwen2": dict(pre=lambda: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                  nfc=True, added=[special("<|endoftext|>"), special("<|im_start|>"), special("<|im_end|>"), AddedToken("<tool_call>", normalized=False),
                                   AddedToken("NORM\u00e9", normalized=True)]),
    "llama3": dict(pre=lambda: pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                   ignore_merges=True, bos="<|begin_of_text|>", outside=["<|begin_of_text|>", "<|eot_id|>"], added=[], whole=["Ġunreachable", "SINGLE", "Ġ123"]),
    "added": dict(pre=lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Split("-", "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=True)]),
                  nfc=True, unk="<|unk|>", missing=MISSING,
                  added=[special("<|unk|>"), special("<|im_start|>"), special("<|im_end|>"), AddedToken("LSTRIP", lstrip=True), AddedToken("RSTRIP", rstrip=True),
                         AddedToken("BOTH", lstrip=True, rstrip=True), AddedToken("SINGLE", single_word=True), AddedToken("NORM\u00e9", normalized=True),
                         AddedToken("LONG"), AddedToken("LONGEST"), AddedToken("SPECSTRIP", special=True, lstrip=True, rstrip=True)]),
}


def train(name):
    family = FAMILIES[name]
    tokenizer = Tokenizer(models.BPE(ignore_merges=family.get("ignore_merges", False)))
    if family.get("nfc"):
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = family["pre"]()
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    missing = {pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(chr(b))[0][0] for b in family.get("missing", b"") if b < 0x80}
    missing |= {chr(b) for b in family.get("missing", b"") if b >= 0x80}
    alphabet = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - missing)
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, special_tokens=family["added"], show_progress=False)
    tokenizer.train_from_iterator([t for t in corpus() if not any(chr(b) in t for b in b"\x04\x06\x13\x14\x16\x1d")], trainer)
    data = json.loads(tokenizer.to_str())
    assert not missing or not (missing & set(data["model"]["vocab"])), "the corpus brings back a byte that is to be missing"
    for piece in family.get("whole", []):
        data["model"]["vocab"].setdefault(piece, len(data["model"]["vocab"]))
    data["model"]["unk_token"] = family.get("unk")
    for content in family.get("outside", []):
        data["added_tokens"].append(dict(id=len(data["model"]["vocab"]) + len(data["added_tokens"]), content=content, single_word=False, lstrip=False, rstrip=False,
                                         normalized=False, special=True))
    if "bos" in family:
        bos = family["bos"]
        token = {"id": bos, "ids": [next(a["id"] for a in data["added_tokens"] if a["content"] == bos)], "tokens": [bos]}
        sequence = {"Sequence": {"id": "A", "type_id": 0}}
        start = {"SpecialToken": {"id": bos, "type_id": 0}}
        data["post_processor"] = {"type": "Sequence", "processors": [data["post_processor"], {
            "type": "TemplateProcessing", "single": [start, sequence], "pair": [start, sequence, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {bos: token}}]}
    if name == "gpt2":  # the older spelling of merges
        data["model"]["merges"] = [" ".join(m) for m in data["model"]["merges"]]
    return data


def smollm2(path):
    from transformers import AutoTokenizer
    folder, name = os.path.split(os.path.abspath(path))
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name).backend_tokenizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", help="the SmolLM2 GGUF file")
    parser.add_argument("--tiny", action="store_true", help="train and write the small tokenizers")
    parser.add_argument("--out", required=True, help="folder for the golden files")
    parser.add_argument("--random", type=int, default=0, help="more random strings")
    args = parser.parse_args()
    texts = strings(args.random)
    if args.tiny:
        for name in FAMILIES:
            data = train(name)
            write(os.path.join(args.out, f"tokenizer_tiny_{name}.json"),
                  {"family": name, "tokenizer": data, "cases": cases(Tokenizer.from_str(json.dumps(data)), texts)})
    if args.gguf:
        write(os.path.join(args.out, "tokenizer_smollm2.json"), {"family": "smollm2", "cases": cases(smollm2(args.gguf), texts)})


if __name__ == "__main__":
    main()
