#!/usr/bin/env python3
"""Golden generated key-value items and splits: what one seed must give for ever.

Everything here is written from the definitions, without the program: Philox4x32-10 (Salmon et al., SC 2011; checked
against the published vectors), streams named (seed, purpose, index), hexadecimal digits from the low end of each word,
words by the first places of a Fisher-Yates shuffle, SHA-256 over length-prefixed texts.

Example: make_kv_items.py --words ../../resources/demo/common-words.txt --out kv_items.json
"""
import argparse
import hashlib
import json
import struct

MASK = 0xFFFFFFFF
ITEMS_PURPOSE, SPLITS_PURPOSE = 3, 4


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & MASK, (a >> 32) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


def stream(seed, purpose, index=0):
    block = 0
    while True:
        yield from philox((block, purpose, index & MASK, index >> 32), (seed & MASK, seed >> 32))
        block += 1


def below(source, count):
    limit = 2**64 - 2**64 % count
    while True:
        value = next(source) << 32
        value |= next(source)
        if value < limit:
            return value % count


def hexadecimal(source, digits):
    text = ""
    while len(text) < digits:
        text += format(next(source), "08x")[::-1]
    return text[:digits]


def uuid(source):
    digits = list(hexadecimal(source, 32))
    digits[12] = "4"
    digits[16] = format(8 + int(digits[16], 16) % 4, "x")
    text = "".join(digits)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def distinct(count, draw):
    texts = []
    while len(texts) < count:
        text = draw()
        if text not in texts:
            texts.append(text)
    return texts


def some_words(source, words, count):
    order = list(words)
    for i in range(count):
        k = i + below(source, len(order) - i)
        order[i], order[k] = order[k], order[i]
    return order[:count]


def item(kind, pairs, seed, index, words):
    source = stream(seed, ITEMS_PURPOSE, index)
    draws = {
        "uuid": lambda: distinct(pairs, lambda: uuid(source)),
        "words": lambda: some_words(source, words, pairs),
    }
    draw = draws.get(kind) or (lambda: distinct(pairs, lambda: hexadecimal(source, int(kind.split(":")[1]))))
    keys = draw()
    return list(zip(keys, draw()))


def digest(items):
    sha = hashlib.sha256()

    def number(value):
        sha.update(struct.pack("<Q", value))

    def text(value):
        number(len(value.encode()))
        sha.update(value.encode())

    number(len(items))
    for name, records in items:
        text(name)
        text(records[0][0])
        text(records[0][1])
        number(len(records) - 1)
        for key, value in records[1:]:
            text(key)
            text(value)
    return sha.hexdigest()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--words", required=True)
    arguments.add_argument("--out", required=True)
    options = arguments.parse_args()
    with open(options.words, encoding="utf-8") as file:
        words = file.read().split()

    sets = []
    for kind, pairs, count, seed in (("uuid", 10, 5, 42), ("hex:9", 10, 5, 42), ("hex:1", 16, 3, 2**40 + 1),
                                     ("words", 20, 5, 42), ("words", 3, 2, 0)):
        items = [("%s/%d" % (kind, i), item(kind, pairs, seed, i, words)) for i in range(count)]
        sets.append({"keys": kind, "pairs": pairs, "count": count, "seed": seed, "hash": digest(items),
                     "first": items[0][1][:2]})

    ids, seed = ["hex:8/%d" % i for i in range(30)], 7
    source = stream(seed, SPLITS_PURPOSE)
    for i in range(len(ids), 1, -1):
        k = below(source, i)
        ids[i - 1], ids[k] = ids[k], ids[i - 1]
    splits = {"seed": seed, "search": ids[:10], "select": ids[10:15], "report": ids[15:]}
    with open(options.out, "w", encoding="utf-8") as out:
        json.dump({"sets": sets, "splits": splits}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
