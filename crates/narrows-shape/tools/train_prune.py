#!/usr/bin/env python3
"""Fits the weights of the code model: `train_prune.py FEATURES.jsonl... [--test FEATURES.jsonl]`

Reads the output of the example `prune_features`. The model is a softmax over the
blocks of a file; the right block is the one that contains the lines of the answer.
Prints the weights for `src/prune/engine/code/model.rs` and their ranking quality,
fitted on all packages and on packages that were left out of the fit. Needs numpy.
"""
import json
import re
import sys

import numpy as np

FOLDS = 5
RIDGE = 0.002
STEPS = 400


def main():
    args = sys.argv[1:]
    tests = []
    if "--test" in args:
        at = args.index("--test")
        tests, args = args[at + 1:], args[:at]
    names, cases = load(args)
    print(f"{len(cases)} cases, {len(names)} features")
    weights = fit(cases, names)
    report("fitted", cases, weights)
    for path in tests:
        report(path.split("/")[-1], load([path])[1], weights)
    packages = sorted({case["package"] for case in cases})
    left_out = []
    for fold in range(FOLDS):
        out = set(packages[fold::FOLDS])
        inside = fit([case for case in cases if case["package"] not in out], names)
        left_out += [(case, inside) for case in cases if case["package"] in out]
    ranks = [rank(case, weights) for case, weights in left_out]
    print_ranks("left out", [case for case, _ in left_out], ranks)
    for name, weight in zip(names, weights):
        print(f"    (\"{name}\", {weight:.2f}),")


def load(paths):
    names, cases = [], []
    for path in paths:
        for case in open(path):
            raw = json.loads(case)
            names = raw["names"]
            gold = {at - 1 for at in raw["gold"]}
            best, right = 0, None
            for at, (start, end, _) in enumerate(raw["blocks"]):
                inside = sum(start <= line < end for line in gold)
                overlap = inside / (end - start + len(gold) - inside)
                if overlap > best:
                    best, right = overlap, at
            if best < 0.3:
                continue  # No block is the answer, so there is nothing to learn.
            package = re.sub(r"-\d.*", "", raw["meta"]["package"])
            cases.append({"x": np.array([block[2] for block in raw["blocks"]], dtype=np.float64), "right": right,
                          "package": package, "kind": raw["meta"]["kind"]})
    return names, cases


def fit(cases, names):
    """Fits the weights with full-batch Adam on the mean log loss; the ridge keeps weights of rare features small."""
    weights, m, v = (np.zeros(len(names)) for _ in range(3))
    x = np.concatenate([case["x"] for case in cases])
    starts = np.cumsum([0] + [len(case["x"]) for case in cases])[:-1]
    sizes = np.array([len(case["x"]) for case in cases])
    right = starts + np.array([case["right"] for case in cases])
    wanted = x[right].sum(0)
    for step in range(1, STEPS + 1):
        score = x @ weights
        best = np.maximum.reduceat(score, starts)
        likely = np.exp(score - np.repeat(best, sizes))
        likely /= np.repeat(np.add.reduceat(likely, starts), sizes)
        gradient = (likely @ x - wanted) / len(cases) + RIDGE * weights
        m = 0.9 * m + 0.1 * gradient
        v = 0.99 * v + 0.01 * gradient ** 2
        weights -= 0.1 * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.99 ** step)) + 1e-8)
    return weights


def rank(case, weights):
    score = case["x"] @ weights
    return int((score > score[case["right"]]).sum()) + 1


def report(title, cases, weights):
    print_ranks(title, cases, [rank(case, weights) for case in cases])


def print_ranks(title, cases, ranks):
    for kind in ("described", "named"):
        of_kind = np.array([r for case, r in zip(cases, ranks) if case["kind"] == kind])
        if len(of_kind):
            print(f"{title:14} {kind:9} {len(of_kind):5}  first {np.mean(of_kind == 1):.3f}  of 3 {np.mean(of_kind <= 3):.3f}"
                  f"  of 10 {np.mean(of_kind <= 10):.3f}  1/rank {np.mean(1 / of_kind):.3f}")


if __name__ == "__main__":
    main()
