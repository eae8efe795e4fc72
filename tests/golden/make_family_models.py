#!/usr/bin/env python3
"""A tiny random model of every family (families/NAME: safetensors, families/NAME.bin.d: the same as pytorch_model.bin,
families/NAME.gguf) and what transformers computes with it (family_logits.json), at short and long positions.

Needs torch, transformers, safetensors and gguf. Run it in this folder: make_family_models.py. Models that exist are kept,
so that the committed weights stay what the committed numbers belong to; --new-weights draws them again.

Per model: one prefill of `length` tokens, beyond the original context where the rope type changes there; a shorter
prefill inside it; token-by-token decoding with transformers' own cache behind a prefill (drawn anew where the
frequencies change, as its generate does for LongRoPE; dynamic NTK has no such numbers, because transformers keeps keys
that were rotated by another base); a left-padded batch of unequal lengths (not where frequencies depend on the length,
because transformers takes the longest prompt's for all); and one scale per layer through hooks that replace each decoder
layer's cos and sin by those of position / scale (float64 angles).
"""
import argparse, json, pathlib
import numpy, torch, transformers
import gguf
from transformers import (Gemma2Config, Gemma2ForCausalLM, Gemma3TextConfig, Gemma3ForCausalLM, LlamaConfig,
                          LlamaForCausalLM, MistralConfig, MistralForCausalLM, Phi3Config, Phi3ForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

COMMON = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, pad_token_id=0,
              max_position_embeddings=1024)
THETA = 10000.0
DECODED, COLUMN_STEP = 6, 7


def rope(kind="default", theta=THETA, **extra):
    return {"rope_type": kind, "rope_theta": theta} | extra


def factors(start, stop, count):
    return [round(float(f), 4) for f in numpy.linspace(start, stop, count)]


# name: (config class, model class, config, length of the long prefill, of the short one)
MODELS = {
    "llama31": (LlamaConfig, LlamaForCausalLM, dict(
        head_dim=16, num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=131072, tie_word_embeddings=False,
        rope_parameters=rope("llama3", 500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=8192)), 9050, 50),
    "llama_dynamic": (LlamaConfig, LlamaForCausalLM, dict(
        head_dim=16, max_position_embeddings=128, rope_parameters=rope("dynamic", factor=3.0)), 300, 100),
    "llama_yarn": (LlamaConfig, LlamaForCausalLM, dict(
        head_dim=16, rope_parameters=rope("yarn", factor=8.0, original_max_position_embeddings=128)), 700, 100),
    "qwen2_yarn": (Qwen2Config, Qwen2ForCausalLM, dict(
        rope_parameters=rope("yarn", 1000000.0, factor=4.0, original_max_position_embeddings=256, beta_fast=16.0,
                             attention_factor=1.2), tie_word_embeddings=True), 700, 100),
    "qwen2_sliding": (Qwen2Config, Qwen2ForCausalLM, dict(
        num_hidden_layers=3, use_sliding_window=True, sliding_window=48, max_window_layers=1, rope_parameters=rope(),
        tie_word_embeddings=True), 300, 40),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, dict(
        head_dim=16, rope_parameters=rope("default", 1000000.0), tie_word_embeddings=True), 700, 100),
    "mistral": (MistralConfig, MistralForCausalLM, dict(head_dim=8, sliding_window=40, rope_parameters=rope()), 300, 30),
    "phi3": (Phi3Config, Phi3ForCausalLM, dict(sliding_window=64, rope_parameters=rope(), pad_token_id=0), 300, 40),
    "phi3_longrope": (Phi3Config, Phi3ForCausalLM, dict(
        num_attention_heads=2, num_key_value_heads=1, original_max_position_embeddings=128,
        rope_parameters=rope("longrope", partial_rotary_factor=0.75, short_factor=factors(1.0, 1.5, 6),
                             long_factor=factors(1.2, 9.0, 6), original_max_position_embeddings=128)), 500, 128),
    "gemma2": (Gemma2Config, Gemma2ForCausalLM, dict(
        num_hidden_layers=3, head_dim=16, query_pre_attn_scalar=24, sliding_window=32, attn_logit_softcapping=5.0,
        final_logit_softcapping=4.0, rope_parameters=rope()), 300, 30),
    "gemma3": (Gemma3TextConfig, Gemma3ForCausalLM, dict(
        num_hidden_layers=4, head_dim=16, query_pre_attn_scalar=16, sliding_window=32,
        layer_types=["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
        rope_parameters={"full_attention": rope("linear", 1000000.0, factor=8.0),
                         "sliding_attention": rope("default", 10000.0)}), 500, 30),
}


def draw_weights(model, gemma, seed):
    """Attention neither flat nor one-hot, so that logits depend on positions; values that bfloat16 holds exactly."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        noise = torch.randn(value.shape, generator=generator)
        if "norm" in name: drawn = (0.0 if gemma else 1.0) + 0.1 * noise
        elif name.endswith("bias"): drawn = 0.3 * noise
        elif "embed" in name or "lm_head" in name: drawn = noise / value.shape[1] ** 0.5 * (1.0 if gemma else 2.0)
        elif "q_proj" in name or "k_proj" in name: drawn = noise / value.shape[1] ** 0.5 * 1.6
        elif "qkv_proj" in name: drawn = noise / value.shape[1] ** 0.5 * 1.4
        else: drawn = noise / value.shape[1] ** 0.5
        value.data = drawn.bfloat16().to(value.dtype)


def install_hooks(model, scales):
    """LPES in transformers: layer h sees cos and sin of position / s_h."""
    rotary, config = model.model.rotary_emb, model.config
    types = getattr(config, "layer_types", None)
    def hook_for(scale, layer_type):
        nested = layer_type is not None and hasattr(rotary, f"{layer_type}_inv_freq")
        def hook(module, args, kwargs):
            # Read at each call: the rotary module has chosen its frequencies for this length by then.
            inverse = getattr(rotary, f"{layer_type}_inv_freq") if nested else rotary.inv_freq
            amplitude = getattr(rotary, f"{layer_type}_attention_scaling") if nested else rotary.attention_scaling
            angle = (kwargs["position_ids"].double() / scale)[..., None] * inverse.double()
            angle = torch.cat([angle, angle], -1)
            kwargs["position_embeddings"] = ((angle.cos() * amplitude).float(), (angle.sin() * amplitude).float())
            return args, kwargs
        return hook
    for index, (layer, scale) in enumerate(zip(model.model.layers, scales)):
        layer.register_forward_pre_hook(hook_for(scale, types[index] if types else None), with_kwargs=True)


def log_probs(logits, ids):
    chosen = torch.log_softmax(logits.double(), -1)
    return [round(chosen[i, ids[i + 1]].item(), 5) for i in range(len(ids) - 1)]


def prefill(model, ids):
    with torch.inference_mode():
        return model(torch.tensor([ids]), use_cache=False).logits[0].float()


def rows(logits):
    return [[round(v, 5) for v in row[::COLUMN_STEP].tolist()] for row in logits]


def decode(model, ids):
    """Logits after each of the last DECODED tokens, fed one by one behind a prefill of the others."""
    with torch.inference_mode():
        out = model(torch.tensor([ids[:-DECODED]]), use_cache=True)
        cache, found = out.past_key_values if hasattr(out, "past_key_values") and out.past_key_values is not None else out.cache, []
        name = "cache" if not hasattr(out, "past_key_values") or out.past_key_values is None else "past_key_values"
        for token in ids[-DECODED:]:
            out = model(torch.tensor([[token]]), use_cache=True, **{name: cache})
            found.append(out.logits[0, -1].float())
    return rows(found)


def batch(model, short, long):
    """The last rows of two prompts in one left-padded batch."""
    pad = len(long) - len(short)
    ids = torch.tensor([[0] * pad + short, long])
    mask = torch.tensor([[0] * pad + [1] * len(short), [1] * len(long)])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        logits = model(ids, attention_mask=mask, position_ids=positions, use_cache=False).logits.float()
    return rows(logits[:, -1])


def write_bin(model, folder):
    folder.mkdir(exist_ok=True)
    state = {k: v.bfloat16() for k, v in model.state_dict().items()
             if not (k == "lm_head.weight" and model.config.tie_word_embeddings)}
    torch.save(state, folder / "pytorch_model.bin")
    (folder / "config.json").write_text((folder.parent / folder.name.removesuffix(".bin.d") / "config.json").read_text())


GGUF_ARCH = {"llama": gguf.MODEL_ARCH.LLAMA, "mistral": gguf.MODEL_ARCH.LLAMA, "qwen2": gguf.MODEL_ARCH.QWEN2, "qwen3": gguf.MODEL_ARCH.QWEN3,
             "phi3": gguf.MODEL_ARCH.PHI3, "gemma2": gguf.MODEL_ARCH.GEMMA2, "gemma3_text": gguf.MODEL_ARCH.GEMMA3}


def interleave(weight, heads):
    """The row order of ggml's "normal" rotary kernel: pairs side by side instead of half a head apart."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(model, file):
    config = model.config
    arch = GGUF_ARCH[config.model_type]
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    writer = gguf.GGUFWriter(file, gguf.MODEL_ARCH_NAMES[arch])
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_name(file.stem)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    gemma = config.model_type.startswith("gemma")
    nested = "full_attention" in config.rope_parameters
    block = config.rope_parameters["full_attention"] if nested else config.rope_parameters
    rotary_dim = int(head_dim * block.get("partial_rotary_factor", 1.0))
    writer.add_rope_dimension_count(rotary_dim)
    if config.model_type != "gemma2": writer.add_rope_freq_base(block["rope_theta"])
    if nested: writer.add_rope_freq_base_swa(config.rope_parameters["sliding_attention"]["rope_theta"])
    kind = block["rope_type"]
    lists = {}
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR if kind == "linear" else gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(block["factor"])
        if kind == "yarn": writer.add_rope_scaling_orig_ctx_len(block["original_max_position_embeddings"])
    if kind == "longrope":
        import math
        ratio = config.max_position_embeddings / config.original_max_position_embeddings
        writer.add_rope_scaling_orig_ctx_len(config.original_max_position_embeddings)
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(ratio) / math.log(config.original_max_position_embeddings)))
        lists = {"rope_factors_long.weight": block["long_factor"], "rope_factors_short.weight": block["short_factor"]}
    if kind == "llama3":
        # As the converter does: what the plain frequencies are divided by.
        plain = block["rope_theta"] ** (-numpy.arange(0, head_dim, 2) / head_dim)
        scaled, _ = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
        lists = {"rope_freqs.weight": plain / scaled.double().numpy()}
    if getattr(config, "sliding_window", None) and config.model_type in ("phi3", "gemma2", "gemma3_text"):
        writer.add_sliding_window(config.sliding_window)
    if config.model_type == "gemma3_text": writer.add_sliding_window_pattern([t == "sliding_attention" for t in config.layer_types])
    if config.model_type == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if gemma: writer.add_attention_scale(config.query_pre_attn_scalar ** -0.5)
    for name, values in lists.items(): writer.add_tensor(name, numpy.asarray(values, dtype=numpy.float32))
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings: continue
        target = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert target, name
        array = value.float().numpy()
        if arch == gguf.MODEL_ARCH.LLAMA and ("q_proj" in name or "k_proj" in name):
            array = interleave(array, config.num_attention_heads if "q_proj" in name else config.num_key_value_heads)
        if gemma and "norm" in name: array = array + 1.0
        if array.ndim == 1: writer.add_tensor(target, array)
        else: writer.add_tensor(target, gguf.quants.quantize(array, gguf.GGMLQuantizationType.BF16), raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.write_tensors_to_file(); writer.close()


# What a GGUF file of these cannot say: another base's growth (dynamic), windows of llama and qwen files, YaRN's own
# attention factor.
NO_GGUF = {"llama_dynamic", "mistral", "qwen2_sliding", "qwen2_yarn"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--new-weights", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    here = pathlib.Path(__file__).parent
    out = {"script": "make_family_models.py", "torch": torch.__version__, "transformers": transformers.__version__,
           "decoded": DECODED, "column_step": COLUMN_STEP, "models": {}}
    for number, (name, (config_class, model_class, extra, length, short)) in enumerate(MODELS.items()):
        folder = here / "families" / name
        gemma = name.startswith("gemma")
        if arguments.new_weights or not (folder / "model.safetensors").exists():
            model = model_class(config_class(**(COMMON | extra))).float().eval()
            draw_weights(model, gemma, 200 + number)
            model.bfloat16().save_pretrained(folder)
            (folder / "generation_config.json").unlink(missing_ok=True)
            reloaded = model_class.from_pretrained(folder, dtype=torch.float32)
            write_bin(reloaded, folder.with_name(name + ".bin.d"))
            if name not in NO_GGUF: write_gguf(reloaded, folder.with_suffix(".gguf"))
        attention = "eager" if name == "gemma2" or length < 2000 else "sdpa"
        load = lambda dtype=torch.float32: model_class.from_pretrained(folder, dtype=dtype, attn_implementation=attention).eval()
        model = load()
        ids = torch.randint(3, 96, (length,), generator=torch.Generator().manual_seed(31 + number)).tolist()
        kind = str(model.config.rope_parameters)
        scales = [1.3, 0.7, 1.85, 0.9][:model.config.num_hidden_layers]
        hooked = load(); install_hooks(hooked, scales)
        long_logits = prefill(model, ids)
        kept = range(len(ids) - 1) if length < 2000 else list(range(50)) + list(range(length - 51, length - 1))
        pick = lambda values: [values[i] for i in kept]
        entry = {"ids_seed": 31 + number, "length": length, "short": short, "scales": scales, "rows": list(kept) if length >= 2000 else None,
                 "ids": ids if length < 2000 else None,
                 "prefill": pick(log_probs(long_logits, ids)), "last_logits": rows(long_logits[-DECODED:]),
                 "short_prefill": log_probs(prefill(model, ids[:short]), ids[:short]),
                 "per_layer": pick(log_probs(prefill(hooked, ids), ids)),
                 "per_layer_short": log_probs(prefill(hooked, ids[:short]), ids[:short])}
        if "'dynamic'" not in kind: entry["decode"] = decode(model, ids)
        if "'dynamic'" not in kind and "'longrope'" not in kind:
            middle = ids[: min(len(ids), 260)]
            entry["batch_lengths"] = [short, len(middle)]
            entry["batch"] = batch(model, ids[:short], middle)
        half = log_probs(prefill(load(torch.bfloat16), ids), ids)
        differences = [abs(a - b) for a, b in zip(pick(half), entry["prefill"])]
        entry["bfloat16_mean_difference"] = round(sum(differences) / len(differences), 5)
        entry["bfloat16_max_difference"] = round(max(differences), 5)
        if length >= 2000: entry["all_ids"] = ids
        out["models"][name] = entry
        print(name, "mean log-probability", round(sum(entry["prefill"]) / len(entry["prefill"]), 3),
              "bf16 differs by", entry["bfloat16_mean_difference"], entry["bfloat16_max_difference"], flush=True)
    (here / "family_logits.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
