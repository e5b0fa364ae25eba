#!/usr/bin/env python3
"""A module of PyTorch, eager and compiled, on the CPU or a GPU: perfkit run ./torch_module.py --device cuda"""
import perfkit
import torch


@perfkit.experiment("torch-module", axes={"batch": [1, 64], "width": [256, 1024]}, yardstick="eager", tolerance=1e-3)
class Module:
    def setup(self, case):
        torch.manual_seed(case.seed)
        device = "cpu" if case.device == "cpu" else "cuda"
        self.module = torch.nn.Sequential(torch.nn.Linear(case.width, 4 * case.width), torch.nn.GELU(), torch.nn.Linear(4 * case.width, case.width))
        self.module.to(device).requires_grad_(False)
        self.x = torch.randn(case.batch, case.width, device=device)
        self.fused = torch.compile(self.module) if case.variant == "compiled" else None

    @perfkit.variant("one kernel after the other")
    def eager(self):
        return self.module(self.x)

    @perfkit.variant("torch.compile; the first call compiles")
    def compiled(self):
        return self.fused(self.x)

    def flops(self, case):
        return 16 * case.batch * case.width**2

    def reference(self, case):
        layers = [(layer.weight.cpu().double(), layer.bias.cpu().double()) for layer in (self.module[0], self.module[2])]
        hidden = torch.nn.functional.gelu(self.x.cpu().double() @ layers[0][0].T + layers[0][1])
        return hidden @ layers[1][0].T + layers[1][1]


perfkit.main()
