#!/usr/bin/env python3
"""A matrix product of NumPy beside sums by einsum: perfkit run ./matmul.py"""
import numpy as np
import perfkit


@perfkit.experiment("numpy-matmul", axes={"n": [64, 256], "dtype": ["float32", "float64"]}, yardstick="einsum")
class Matmul:
    def setup(self, case):
        random = np.random.default_rng(case.seed)
        self.a, self.b = (random.standard_normal((case.n, case.n)).astype(case.dtype) for _ in range(2))

    @perfkit.variant("np.einsum, which sums in its own loops")
    def einsum(self):
        return np.einsum("ij,jk->ik", self.a, self.b)

    @perfkit.variant("a @ b, which calls the BLAS")
    def matmul(self):
        return self.a @ self.b

    def flops(self, case):
        return 2 * case.n**3

    def reference(self, case):
        return self.a.astype("float64") @ self.b.astype("float64")


perfkit.main()
