#!/usr/bin/env python3
"""Golden numbers for the training of MoICE's routers.

adamw: torch.optim.AdamW in float32 on given gradients, parameters and both moments after every step.
switch: transformers' load_balancing_loss_func (Mixtral) on random router logits of two layers, [rows, 7] each, for
top_k 1, 3 and 7, with the gradient with respect to the logits from autograd.

Needs torch and transformers. Example: make_moice_golden.py --out moice.json
"""
import argparse
import json

import torch
import transformers
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func


def adamw(settings, generator):
    start = torch.randn(6, generator=generator)
    parameter = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.AdamW([parameter], lr=settings["lr"], betas=(settings["beta1"], settings["beta2"]),
                                  eps=settings["eps"], weight_decay=settings["weight_decay"])
    steps = []
    for step in range(5):
        # Gradients over many orders of magnitude, so that epsilon and both corrections show.
        gradient = torch.randn(6, generator=generator) * 10.0 ** torch.arange(-5.0, 1.0)
        parameter.grad = gradient.clone()
        optimizer.step()
        state = optimizer.state[parameter]
        steps.append({"gradient": gradient.tolist(), "parameters": parameter.detach().tolist(),
                      "mean": state["exp_avg"].tolist(), "square": state["exp_avg_sq"].tolist()})
    return {"settings": settings, "start": start.tolist(), "steps": steps}


def switch(generator):
    layers = [torch.randn(40, 7, generator=generator) for _ in range(2)]
    cases = []
    for top_k in (1, 3, 7):
        inputs = [layer.clone().requires_grad_(True) for layer in layers]
        loss = load_balancing_loss_func(tuple(inputs), num_experts=7, top_k=top_k)
        loss.backward()
        cases.append({"top_k": top_k, "loss": loss.item(), "gradient": [x.grad.tolist() for x in inputs]})
    return {"logits": [layer.tolist() for layer in layers], "cases": cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    out = parser.parse_args().out
    generator = torch.Generator().manual_seed(1)
    recipe = {"lr": 1e-4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}
    other = {"lr": 0.05, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1}
    golden = {"torch": torch.__version__, "transformers": transformers.__version__,
              "adamw": [adamw(recipe, generator), adamw(other, generator)], "switch": switch(generator)}
    with open(out, "w") as file:
        json.dump(golden, file)
        file.write("\n")


if __name__ == "__main__":
    main()
