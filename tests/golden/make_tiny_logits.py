#!/usr/bin/env python3
"""Tiny random models as Hugging Face folders (tiny/*) and what transformers computes with them (tiny_logits.json).

Needs torch, transformers and safetensors. Run it in this folder: make_tiny_logits.py. Models that exist are kept, so
that the committed weights stay what the committed numbers belong to; --new-weights draws them again.
Profiles: baseline; uniform 2 through the configuration's own linear rope factor; one scale per layer through a hook
that replaces each decoder layer's cos and sin by those of position / scale (float64 angles).
"""
import argparse, json, pathlib
import torch, transformers
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

LENGTH, ROWS, COLUMN_STEP = 700, list(range(6)) + list(range(690, 700)), 9
COMMON = dict(vocab_size=300, hidden_size=64, max_position_embeddings=1024, rms_norm_eps=1e-5,
              bos_token_id=1, eos_token_id=2, pad_token_id=None)

def rope(factor=1.0):
    block = {"rope_type": "default" if factor == 1.0 else "linear", "rope_theta": 10000.0}
    return block if factor == 1.0 else block | {"factor": factor}

MODELS = {
    "llama_gqa": (LlamaConfig, LlamaForCausalLM, dict(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                  head_dim=16, intermediate_size=80, tie_word_embeddings=False), 1.0),
    "llama_mha_tied": (LlamaConfig, LlamaForCausalLM, dict(num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=4, head_dim=32, intermediate_size=48, tie_word_embeddings=True), 1.0),
    "qwen2_bias": (Qwen2Config, Qwen2ForCausalLM, dict(num_hidden_layers=3, num_attention_heads=4,
                   num_key_value_heads=1, intermediate_size=72, tie_word_embeddings=True), 1.0),
    "llama_linear": (LlamaConfig, LlamaForCausalLM, dict(num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, head_dim=16, intermediate_size=96, tie_word_embeddings=True), 2.0),
}

def draw_weights(model, seed):
    """Attention neither flat nor one-hot, so that logits depend on positions."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.named_parameters():
        noise = torch.randn(value.shape, generator=generator)
        if "norm" in name: value.data = 1.0 + 0.1 * noise
        elif name.endswith("bias"): value.data = 0.3 * noise
        elif "embed" in name or "lm_head" in name: value.data = noise / value.shape[1] ** 0.5 * 2.0
        elif "q_proj" in name or "k_proj" in name: value.data = noise / value.shape[1] ** 0.5 * 1.6
        else: value.data = noise / value.shape[1] ** 0.5

def install_hooks(model, scales):
    config = model.config
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    inverse = config.rope_parameters["rope_theta"] ** (-torch.arange(0, head_dim, 2).double() / head_dim)
    inverse /= config.rope_parameters.get("factor", 1.0)
    def hook_for(scale):
        def hook(module, args, kwargs):
            angle = (kwargs["position_ids"].double() / scale)[..., None] * inverse
            angle = torch.cat([angle, angle], -1)
            kwargs["position_embeddings"] = (angle.cos().float(), angle.sin().float())
            return args, kwargs
        return hook
    for layer, scale in zip(model.model.layers, scales): layer.register_forward_pre_hook(hook_for(scale), with_kwargs=True)

def compute(model, ids):
    with torch.inference_mode():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0].float()
    log_probs = torch.log_softmax(logits.double(), -1)
    return {"log_probs": [round(log_probs[i, ids[i + 1]].item(), 6) for i in range(len(ids) - 1)],
            "logits": [[round(v, 6) for v in logits[row, ::COLUMN_STEP].tolist()] for row in ROWS]}

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--new-weights", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    here = pathlib.Path(__file__).parent
    out = {"script": "make_tiny_logits.py", "torch": torch.__version__, "transformers": transformers.__version__,
           "rows": ROWS, "column_step": COLUMN_STEP, "models": {}}
    for number, (name, (config_class, model_class, extra, factor)) in enumerate(MODELS.items()):
        folder = here / "tiny" / name
        config = config_class(**COMMON, **extra, rope_parameters=rope(factor))
        if arguments.new_weights or not (folder / "model.safetensors").exists():
            model = model_class(config).float().eval(); draw_weights(model, 100 + number); model.save_pretrained(folder)
            (folder / "generation_config.json").unlink(missing_ok=True)
        ids = torch.randint(3, config.vocab_size, (LENGTH,), generator=torch.Generator().manual_seed(7 + number)).tolist()
        load = lambda f: model_class.from_pretrained(folder, config=config_class(**COMMON, **extra, rope_parameters=rope(f)), dtype=torch.float32, attn_implementation="eager").eval()
        scales = [1.3, 0.7, 1.85][:config.num_hidden_layers]
        hooked = load(factor); install_hooks(hooked, scales)
        out["models"][name] = {"ids": ids, "scales": scales, "baseline": compute(load(factor), ids),
                               "uniform_2": compute(load(2.0 * factor), ids), "per_layer": compute(hooked, ids)}
    (here / "tiny_logits.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")

main()
