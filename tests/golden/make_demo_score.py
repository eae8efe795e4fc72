#!/usr/bin/env python3
"""What transformers computes in float32 with the demo model: demo_score.json.

Usage: make_demo_score.py FOLDER_WITH_GGUF [--text FILE] [--work FOLDER]. Needs torch, transformers, accelerate, gguf.
The GGUF (SmolLM2-135M-Instruct.Q4_1.gguf) is dequantised into a Hugging Face folder first; transformers builds its
tokenizer without SmolLM2's Digits(individual) step, so that is put back. The text is 1,600 tokens of the GNU General
Public License, version 3, from token 3,200 on.
Profiles: baseline; uniform 2 through the configuration's own linear rope factor; one random scale per layer through a
hook that replaces each layer's cos and sin (float64 angles). The float32 angles of transformers alone move
log-probabilities by 1e-4 at these positions, so a row whose best two logits are closer than that has no answer to be
held to. The licence's beginning has such rows; this stretch has none (smallest gap 5e-4 or more, checked below).
"""
import argparse, copy, json, pathlib, random, tempfile
import torch, transformers
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

NAME, FIRST, TOKENS, SMALLEST_GAP = "SmolLM2-135M-Instruct.Q4_1.gguf", 3200, 1600, 5e-4

def dequantise(source, out):
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=NAME)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=NAME, dtype="float32")
    config = model.config.to_dict(); config.pop("quantization_config", None)
    plain = LlamaForCausalLM(LlamaConfig(**config)); plain.load_state_dict(model.state_dict())
    plain.save_pretrained(out); tokenizer.save_pretrained(out)

def install_hooks(model, scales):
    config = model.config
    inverse = config.rope_parameters["rope_theta"] ** (-torch.arange(0, config.head_dim, 2).double() / config.head_dim)
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
    best = logits.topk(2, -1)
    gap = best.values[:, 0] - best.values[:, 1]
    return {"log_probs": [round(log_probs[i, ids[i + 1]].item(), 6) for i in range(len(ids) - 1)],
            "argmax": best.indices[:, 0].tolist(), "smallest_gap": round(gap.min().item(), 6)}

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf_folder")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3")
    parser.add_argument("--work", help="keeps the dequantised folder here, and uses it when it is there already")
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work or tempfile.mkdtemp())
    if not (work / "config.json").exists(): dequantise(arguments.gguf_folder, work)
    ids = AutoTokenizer.from_pretrained(work).encode(pathlib.Path(arguments.text).read_text(), add_special_tokens=False)[FIRST:FIRST + TOKENS]
    config = LlamaConfig.from_pretrained(work)
    linear = copy.deepcopy(config)
    linear.rope_parameters = {"rope_type": "linear", "rope_theta": config.rope_parameters["rope_theta"], "factor": 2.0}
    load = lambda c: LlamaForCausalLM.from_pretrained(work, config=c, dtype=torch.float32).eval()
    drawn = random.Random(3)
    scales = [round(drawn.uniform(0.6, 1.8), 2) for _ in range(config.num_hidden_layers)]
    hooked = load(config); install_hooks(hooked, scales)
    out = {"script": "make_demo_score.py", "torch": torch.__version__, "transformers": transformers.__version__,
           "model": NAME, "text": "GNU General Public License, version 3", "ids": ids, "scales": scales,
           "baseline": compute(load(config), ids), "uniform_2": compute(load(linear), ids), "profile": compute(hooked, ids)}
    for name in ("baseline", "uniform_2", "profile"):
        print(name, "mean log-probability", sum(out[name]["log_probs"]) / (len(ids) - 1), "smallest gap",
              out[name]["smallest_gap"])
        assert out[name]["smallest_gap"] >= SMALLEST_GAP, "near ties: choose another stretch of the text"
    (pathlib.Path(__file__).parent / "demo_score.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")

main()
