"""Experiments on the paper's claims: pairs of models that differ in one thing only, judged by test images."""
