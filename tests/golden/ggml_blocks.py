#!/usr/bin/env python3
"""Makes ggml_blocks.json: what the gguf package makes of random blocks, and llama.cpp's row order of q and k.

The blocks are random bytes with finite scales (large, small, negative and subnormal ones among them), so every bit
pattern of the levels occurs. Needs: numpy, gguf. Numbers in the file: little-endian bytes as hexadecimal text.
"""
import argparse
import json

import gguf
import numpy as np

TYPES = {
    # name: (half fields in front, bytes behind them)
    "F16": (0, 64), "BF16": (0, 64), "Q8_0": (1, 32), "Q4_0": (1, 16), "Q4_1": (2, 16), "Q5_0": (1, 20), "Q5_1": (2, 20),
    "Q4_K": (2, 140), "Q5_K": (2, 172), "IQ4_NL": (1, 16), "IQ4_XS": (1, 134),
    # negative: the half fields stand behind the bytes
    "Q2_K": (-2, 80), "Q3_K": (-1, 108), "Q6_K": (-1, 208),
}
SUPER_BLOCKS = 5  # of the types with 256 elements in a block


def finite_halves(rng, count):
    bits = rng.integers(0, 1 << 16, size=count, dtype=np.uint16)
    bits = np.where((bits & 0x7C00) == 0x7C00, bits & 0xBFFF, bits)
    bits[0] = 0x8001  # the smallest negative subnormal
    return bits.astype("<u2")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="ggml_blocks.json")
    parser.add_argument("--blocks", type=int, default=12)
    args = parser.parse_args()
    rng = np.random.default_rng(20240607)
    golden = {"gguf_types": {}}
    for name, (halves, rest) in TYPES.items():
        qtype = gguf.GGMLQuantizationType[name]
        if halves == 0:
            bits = finite_halves(rng, 32 * args.blocks)
            if name == "BF16":
                bits = np.where((bits & 0x7F80) == 0x7F80, bits & 0xBFFF, bits).astype("<u2")
            data = bits.view(np.uint8)
        else:
            blocks = SUPER_BLOCKS if gguf.GGML_QUANT_SIZES[qtype][0] == 256 else args.blocks
            scales = finite_halves(rng, blocks * abs(halves)).reshape(blocks, abs(halves)).view(np.uint8)
            levels = rng.integers(0, 256, size=(blocks, rest), dtype=np.uint8)
            data = np.concatenate([scales, levels] if halves > 0 else [levels, scales], axis=1).reshape(-1)
            assert data.size == blocks * gguf.GGML_QUANT_SIZES[qtype][1]
        values = gguf.quants.dequantize(data.reshape(1, -1), qtype).astype("<f4").reshape(-1)
        golden["gguf_types"][name] = {"bytes": data.tobytes().hex(), "float32": values.tobytes().hex()}
    # LlamaModel.permute of llama.cpp's convert_hf_to_gguf.py, on rows that hold their own number.
    heads, dim = 4, 16
    rows = np.arange(heads * dim).reshape(heads, 2, dim // 2, 1).swapaxes(1, 2).reshape(-1)
    golden["llama_permute"] = {"heads": heads, "head_dim": dim, "hf_row_of_gguf_row": rows.tolist()}
    with open(args.out, "w", encoding="utf-8") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
