#!/usr/bin/env python3
"""One tiny Llama as torch.save writes it in its layouts (torch/*), and the same weights as safetensors.

Needs torch, numpy and safetensors. Run it in this folder. Every value is a multiple of 1/64 below 2, so that float32,
float16 and bfloat16 hold the same numbers and one safetensors file is the reference of all:
  zip      float32; parameters, _metadata, a head that shares the embedding's storage, q, k and v in one storage with
           offsets, a buffer of integers, one of booleans, one of doubles that is transposed, rotary frequencies
  old      bfloat16 in the layout before PyTorch 1.6, with shared storages and _metadata
  sharded  float16 in two zip files with an index
  nested   float32 under 'model' beside an epoch, protocol 4
"""
import collections, json, pathlib
import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent / "torch"
HIDDEN, HEADS, KV_HEADS, DIM, INNER, VOCABULARY = 32, 4, 2, 8, 48, 260
CONFIG = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_act="silu", hidden_size=HIDDEN,
              intermediate_size=INNER, max_position_embeddings=512, num_attention_heads=HEADS, num_hidden_layers=1,
              num_key_value_heads=KV_HEADS, head_dim=DIM, rms_norm_eps=1e-5, rope_theta=10000.0,
              tie_word_embeddings=True, vocab_size=VOCABULARY)

def weights():
    generator = torch.Generator().manual_seed(5)
    draw = lambda *shape: torch.randint(-127, 128, shape, generator=generator).float() / 64
    fused = draw((HEADS + 2 * KV_HEADS) * DIM, HIDDEN)
    q, k, v = fused.split([HEADS * DIM, KV_HEADS * DIM, KV_HEADS * DIM])
    layer = "model.layers.0."
    return collections.OrderedDict([
        ("model.embed_tokens.weight", draw(VOCABULARY, HIDDEN)), ("model.norm.weight", draw(HIDDEN)),
        (layer + "input_layernorm.weight", draw(HIDDEN)), (layer + "post_attention_layernorm.weight", draw(HIDDEN)),
        (layer + "self_attn.q_proj.weight", q), (layer + "self_attn.k_proj.weight", k),
        (layer + "self_attn.v_proj.weight", v), (layer + "self_attn.o_proj.weight", draw(HIDDEN, HEADS * DIM)),
        (layer + "mlp.gate_proj.weight", draw(INNER, HIDDEN)), (layer + "mlp.up_proj.weight", draw(INNER, HIDDEN)),
        (layer + "mlp.down_proj.weight", draw(HIDDEN, INNER))])

def converted(state, dtype):
    """Keeps it that q, k and v share a storage."""
    moved, storages = collections.OrderedDict(), {}
    for name, value in state.items():
        base = storages.setdefault(value.untyped_storage().data_ptr(), torch.tensor([], dtype=value.dtype).set_(
            value.untyped_storage()).to(dtype))
        moved[name] = base[value.storage_offset():][:value.numel()].view(value.shape)
    moved["lm_head.weight"] = moved["model.embed_tokens.weight"]
    moved._metadata = collections.OrderedDict([("", {"version": 1}), ("model", {"version": 1})])
    return moved

def folder(name):
    path = HERE / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    return path

def main():
    state = weights()
    save_file({name: value.contiguous() for name, value in state.items()}, folder("safetensors") / "model.safetensors")

    full = converted(state, torch.float32)
    for name in list(full)[:4]: full[name] = torch.nn.Parameter(full[name])
    full["lm_head.weight"] = full["model.embed_tokens.weight"]
    full["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.arange(DIM // 2).float()
    full["model.position_ids"] = torch.arange(5)
    full["model.mask"] = torch.ones(3, dtype=torch.bool)
    full["model.transposed"] = torch.zeros(2, 3, dtype=torch.float64).t()
    torch.save(full, folder("zip") / "pytorch_model.bin")

    torch.save(converted(state, torch.bfloat16), folder("old") / "pytorch_model.bin", _use_new_zipfile_serialization=False)

    half, shards = converted(state, torch.float16), folder("sharded")
    names = list(half)
    parts = {f"pytorch_model-0000{i + 1}-of-00002.bin": names[i::2] for i in range(2)}
    for file, held in parts.items(): torch.save({name: half[name].clone() for name in held}, shards / file)
    index = {"metadata": {"total_size": sum(value.numel() * 2 for value in half.values())},
             "weight_map": {name: file for file, held in parts.items() for name in held}}
    (shards / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=1) + "\n")

    torch.save({"epoch": 3, "model": dict(converted(state, torch.float32))}, folder("nested") / "pytorch_model.bin",
               pickle_protocol=4)

main()
