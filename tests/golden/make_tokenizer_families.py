#!/usr/bin/env python3
"""Golden ids of small vocabularies in the configuration of every model family, for tests/core/text.

  make_tokenizer_families.py --out tests/golden/tokenizers

Made with tokenizers 0.23.3, sentencepiece 0.2.3 and transformers 5.24.0 (for generate_merges, which is how the published
tokenizer.json files of the sentencepiece families got their merges). One list of strings for all families
(strings.json.gz: those of make_tokenizer_golden.py and random ones) and one file a family, gzipped JSON:

  tokenizer   the tokenizer.json
  plain       ids of every string, special tokens as ordinary text
  special     {index: ids} where parsing special tokens gives others
  decoded     {index: text} where the library's decoder does not give the string back (the first 200, U+FFFD left out)
  model       the tokenizer.model in base64, for families that have one
  pieces      {index: ids} where sentencepiece gives other ids for it than "plain"
  fused       indices whose unknown characters the two count differently

steps.json.gz holds one vocabulary and many combinations of the other pieces of tokenizer.json.
"""
import argparse
import base64
import gzip
import io
import json
import os
import sys

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers.tokenization_utils_base import generate_merges
from transformers.utils import sentencepiece_model_pb2_new as model_pb2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_tokenizer_golden as base  # noqa: E402

TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + TAIL +
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + TAIL +
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
MORE = ["<s>", "a<s>b", "</s>", "x </s> y", "<unk>", "<|end|>", "a<|end|>\n b", "<|user|>\nhi<|end|>\n<|assistant|>\n", "<start_of_turn>user\n",
        "<end_of_turn>\n", "<bos>", "[INST] hi [/INST]", "[INST]", "x[/INST] y", "<|eot_id|>", "<table>", "a<table> b", "<0x41>", "<0x0A>", "▁", "▁a", " ▁ ",
        "▁▁a▁", " a", "  a", "   a  b ", "HelloWorld FooBAR's XMLHttpRequest", "don't DON'T I'LL", "path/to/file\n/x", "ÀÉÎ àéî", "ǅ ǈ", "ʰ ʲ", "Ⅷ ⅷ"]


def all_strings(count=2100):
    texts = list(dict.fromkeys(base.strings(0) + MORE))
    seed = 100
    while len(texts) < count:
        texts = list(dict.fromkeys(texts + base.random_strings(200, seed)))
        seed += 1
    return texts[:count]


def corpus():
    return base.corpus() + base.SPACES[9:30] + ["    indented = code(" + str(k) + ")\n" for k in range(30)]


def ids_of(tokenizer, texts, parse):
    tokenizer.encode_special_tokens = not parse
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def golden(data, texts, hidden=()):
    """`hidden`: special pieces of a Unigram vocabulary, which the library would make out of ordinary text."""
    parsed = ids_of(Tokenizer.from_str(json.dumps(data)), texts, True)
    secret = json.loads(json.dumps(data))
    for piece in secret["model"]["vocab"] if hidden else []:
        if piece[0] in hidden:
            piece[0] = "\ue000" + piece[0] + "\ue000"
    if hidden:
        secret["added_tokens"] = []
        secret["post_processor"] = None
    plain = ids_of(Tokenizer.from_str(json.dumps(secret)), texts, False)
    tokenizer = Tokenizer.from_str(json.dumps(data))
    decoded = {}
    for k, (text, ids) in enumerate(zip(texts, plain)):
        back = tokenizer.decode(ids, skip_special_tokens=False)
        if back != text and "\ufffd" not in back and len(decoded) < 200:
            decoded[str(k)] = back
    return {"plain": plain, "special": {str(k): b for k, (a, b) in enumerate(zip(plain, parsed)) if a != b}, "decoded": decoded}


# Byte-level families -------------------------------------------------------------------------------------------------

def byte_level(pattern, nfc=False, ignore_merges=False, added=(), bos=None, whole=()):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    steps = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    # Training crosses what the pattern cuts, so that a wrong cut shows.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"[^\n]{1,12}\n?|\n"), "isolated")] + steps)
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1100, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated")] + steps)
    tokenizer.decoder = decoders.ByteLevel()
    data = json.loads(tokenizer.to_str())
    for piece in whole:
        data["model"]["vocab"].setdefault(piece, len(data["model"]["vocab"]))
    put_added(data, added, bos)
    return data


def put_added(data, added, bos, normalized=False):
    vocab = data["model"]["vocab"]
    known = dict(vocab) if isinstance(vocab, dict) else {piece: k for k, (piece, _) in enumerate(vocab)}
    data["added_tokens"] = []
    for item in added:
        token = dict(content=item) if isinstance(item, str) else dict(item)
        token.setdefault("special", True)
        known.setdefault(token["content"], len(known))
        data["added_tokens"].append(dict(dict(id=known[token["content"]], single_word=False, lstrip=False, rstrip=False, normalized=normalized), **token))
    if bos:
        sequence = {"Sequence": {"id": "A", "type_id": 0}}
        start = {"SpecialToken": {"id": bos, "type_id": 0}}
        data["post_processor"] = {"type": "TemplateProcessing", "single": [start, sequence], "pair": [start, sequence, {"Sequence": {"id": "B", "type_id": 1}}],
                                  "special_tokens": {bos: {"id": bos, "ids": [known[bos]], "tokens": [bos]}}}


# sentencepiece families ----------------------------------------------------------------------------------------------

def train_pieces(**options):
    out = io.BytesIO()
    lines = [line for text in corpus() for line in text.split("\n") if line.strip()]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, num_threads=1, minloglevel=2,
                                             hard_vocab_limit=False, character_coverage=0.98, **options)
    proto = model_pb2.ModelProto.FromString(out.getvalue())
    proto.ClearField("self_test_data")
    proto.trainer_spec.ClearField("input")
    return proto


def bpe_data(proto, steps, added, bos, unk="<unk>"):
    vocab = {p.piece: k for k, p in enumerate(proto.pieces)}
    normal = {p.piece: p.score for p in proto.pieces if p.type == 1}
    merges = generate_merges({piece: vocab[piece] for piece in normal}, normal)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token=unk, fuse_unk=True, byte_fallback=True))
    for name, value in steps.items():
        setattr(tokenizer, name, value)
    data = json.loads(tokenizer.to_str())
    put_added(data, added, bos)
    return data


def with_model(family, proto, texts):
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    family["model"] = base64.b64encode(proto.SerializeToString()).decode()
    pieces = processor.encode(texts)
    family["pieces"] = {str(k): b for k, (a, b) in enumerate(zip(family["plain"], pieces)) if a != b}
    return family


def sentencepiece_decoder(strip=True):
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + ([decoders.Strip(" ", 1, 0)] if strip else []))


def families(texts):
    eot = ["<|begin_of_text|>", "<|eot_id|>"]
    chatml = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", dict(content="<tool_call>", special=False)]
    yield "llama3", dict(tokenizer=(data := byte_level(base.LLAMA3, ignore_merges=True, added=eot, bos=eot[0], whole=["Ġunreachable", "SINGLE", "Ġ123"])), **golden(data, texts))
    yield "qwen", dict(tokenizer=(data := byte_level(base.QWEN2, nfc=True, added=chatml)), **golden(data, texts))
    yield "nemo", dict(tokenizer=(data := byte_level(TEKKEN, ignore_merges=True, added=["<s>", "</s>", "[INST]", "[/INST]"], bos="<s>", whole=["ĠHelloWorld"])), **golden(data, texts))
    yield "phi4mini", dict(tokenizer=(data := byte_level(GPT4O, added=["<|endoftext|>", dict(content="<|end|>", rstrip=True), dict(content="<|user|>", rstrip=True)])), **golden(data, texts))

    llama = train_pieces(model_type="bpe", vocab_size=1100, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                         split_digits=True, allow_whitespace_only_pieces=True)
    legacy = dict(normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), decoder=sentencepiece_decoder())
    yield "llama2", with_model(dict(tokenizer=(data := bpe_data(llama, legacy, ["<unk>", "<s>", "</s>"], "<s>")), **golden(data, texts)), llama, texts)
    first = dict(pre_tokenizer=pre_tokenizers.Metaspace("▁", "first", False), decoder=sentencepiece_decoder())
    yield "mistral", dict(tokenizer=(data := bpe_data(llama, first, ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"], "<s>")), **golden(data, texts))
    turns = [dict(content=c, rstrip=True) for c in ["<|user|>", "<|assistant|>", "<|end|>"]]
    yield "phi3", dict(tokenizer=(data := bpe_data(llama, legacy, ["<unk>", "<s>", dict(content="</s>", rstrip=True, special=False), "<|endoftext|>"] + turns, None)),
                       **golden(data, texts))

    gemma = train_pieces(model_type="bpe", vocab_size=1100, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                         add_dummy_prefix=False, split_digits=True, allow_whitespace_only_pieces=True, pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>",
                         eos_piece="<eos>", bos_piece="<bos>", user_defined_symbols=["<start_of_turn>", "<end_of_turn>", "<table>", "\n\n"])
    spaces = dict(normalizer=normalizers.Replace(" ", "▁"), pre_tokenizer=pre_tokenizers.Split(" ", "merged_with_previous"), decoder=sentencepiece_decoder(False))
    own = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", dict(content="<table>", special=False), dict(content="\n\n", special=False)]
    yield "gemma", with_model(dict(tokenizer=(data := bpe_data(gemma, spaces, own, "<bos>")), **golden(data, texts)), gemma, texts)

    t5 = train_pieces(model_type="unigram", vocab_size=700, normalization_rule_name="nmt_nfkc", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    tokenizer = Tokenizer(models.Unigram([(p.piece, p.score) for p in t5.pieces], 2))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(t5.normalizer_spec.precompiled_charsmap), normalizers.Strip(left=False, right=True),
                                                 normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always", True)
    tokenizer.decoder = decoders.Metaspace("▁", "always", True)
    data = json.loads(tokenizer.to_str())
    put_added(data, ["<pad>", "</s>", "<unk>"], None)
    data["post_processor"] = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                              "pair": [], "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}}
    yield "t5", with_model(dict(tokenizer=data, **golden(data, texts, hidden=("<pad>", "</s>", "<unk>"))), t5, texts)


def steps(texts):
    """Combinations of normalizers and pre-tokenizers over one vocabulary of characters and words."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\n]{1,12}\n?|\n"), "isolated")
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1300, special_tokens=["<unk>", "<s>"], show_progress=False))
    P, N = pre_tokenizers, normalizers
    variants = [
        (N.Sequence([N.NFKD(), N.StripAccents(), N.Lowercase(), N.Strip()]), P.Whitespace()),
        (N.NFKC(), P.Sequence([P.WhitespaceSplit(), P.Punctuation("isolated")])),
        (N.NFD(), P.Sequence([P.Split("-", "removed"), P.Punctuation("contiguous"), P.Digits(False)])),
        (N.Sequence([N.Replace(Regex(r"[0-9]+"), "#"), N.NFC(), N.Replace("a", "")]), P.Split(Regex(r"\p{L}+"), "merged_with_previous")),
        (N.Sequence([N.Strip(left=True, right=False), N.Prepend("> ")]), P.Sequence([P.Split(Regex(r"\s+"), "merged_with_next"), P.Metaspace("_", "never", True)])),
        (None, P.Sequence([P.Split(Regex(r" ?[^\s]+"), "removed", True), P.Punctuation("removed")])),
        (N.Lowercase(), P.Sequence([P.Metaspace(" ", "first", False), P.Punctuation("merged_with_next")])),
        (N.Sequence([N.Strip(left=False, right=True), N.StripAccents()]), P.Sequence([P.Punctuation("merged_with_previous"), P.Digits(True)])),
        (None, P.Sequence([P.Split("e", "contiguous", True), P.Metaspace("_", "always", True)])),
        (None, None),
    ]
    out = {"strings": list(range(0, len(texts), 3)), "variants": []}
    chosen = [texts[k] for k in out["strings"]]
    for normalizer, pre_tokenizer in variants:
        data = json.loads(tokenizer.to_str())
        made = Tokenizer.from_str(tokenizer.to_str())
        made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizer
        parts = json.loads(made.to_str())
        data["normalizer"], data["pre_tokenizer"] = parts["normalizer"], parts["pre_tokenizer"]
        out["variants"].append({"normalizer": data["normalizer"], "pre_tokenizer": data["pre_tokenizer"], "plain": ids_of(Tokenizer.from_str(json.dumps(data)), chosen, False)})
    data = json.loads(tokenizer.to_str())
    data["pre_tokenizer"] = None
    data["added_tokens"] = []
    out["tokenizer"] = data
    return out


def write(path, value):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()
    with open(path, "wb") as f:
        f.write(gzip.compress(text, 9, mtime=0))
    print(f"{path}: {os.path.getsize(path)} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for the golden files")
    parser.add_argument("--strings", type=int, default=2100, help="how many; more for a comparison by hand")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    texts = all_strings(args.strings)
    write(os.path.join(args.out, "strings.json.gz"), texts)
    for name, family in families(texts):
        print(name, len(family["special"]), "parsed differently,", len(family["decoded"]), "decoded differently,", len(family.get("pieces", {})), "by sentencepiece")
        write(os.path.join(args.out, f"{name}.json.gz"), family)
    write(os.path.join(args.out, "steps.json.gz"), steps(texts))


if __name__ == "__main__":
    main()
