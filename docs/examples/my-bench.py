#!/usr/bin/env python3
"""My experiment: ways to join words to a text.

perfkit run ./my-bench.py      measures it
python3 my-bench.py            prints a line for each case with PYTHONPATH as `perfkit init python` prints
it, or with the wheel that is built beside perfkit installed: python3 -m pip install FOLDER/perfkit_client-*.whl"""
import perfkit


@perfkit.experiment("my-bench", axes={"words": [100, 10000]}, yardstick="plus", summary="how fast are words joined")
class Join:
    def setup(self, case):
        self.words = [str(i) for i in range(case.words)]

    @perfkit.variant("text += word, in a loop")
    def plus(self):
        text = ""
        for word in self.words:
            text += word
        return text

    @perfkit.variant("one call of join")
    def join(self):
        return "".join(self.words)

    def bytes(self, case):
        """Work of a case, for GB/s: bytes, or flops for GFLOP/s."""
        return sum(len(str(i)) for i in range(case.words))

    def reference(self, case):
        """What a variant must return; compared before anything is timed."""
        return "%s" * case.words % tuple(range(case.words))


perfkit.main()
