"""Training time on one split of uci-sonar and uci-pima: Margrove, MKLpy and scikit-learn's SVC of the
uniform kernel, from the same Gram matrices in one run. CPU seconds, matrices not timed.

    python bench/mkl_vs_peers.py build-bench/bench/bench_mkl_tables DATA
"""

import subprocess
import sys
import tempfile
import time

import numpy as np
from MKLpy.algorithms import AverageMKL, EasyMKL
from sklearn.svm import SVC


def timed(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main():
    program, data = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        ours = subprocess.run([program, "--peers", data, folder], check=True, capture_output=True,
                              text=True).stdout.splitlines()
        for line in ours:
            name, method, _, seconds, rounds = line.split()
            print(f"{name}, margrove {method}, {seconds} s, {rounds} rounds")
        for name in ("uci-sonar", "uci-pima"):
            y = np.loadtxt(f"{folder}/{name}.labels.txt").astype(int)
            kernels = np.fromfile(f"{folder}/{name}.kernels.f32", np.float32)
            kernels = kernels.reshape(-1, len(y), len(y)).astype(float)
            uniform = kernels.mean(axis=0)
            seconds = timed(lambda K=uniform, t=y: SVC(C=1.0, kernel="precomputed").fit(K, t))
            print(f"{name}, scikit-learn SVC of the uniform kernel, {seconds:.4f} s")
            for algorithm in (AverageMKL, EasyMKL):
                seconds = timed(lambda a=algorithm, K=kernels, t=y: a().fit(list(K), t))
                print(f"{name}, MKLpy {algorithm.__name__}, {seconds:.4f} s")


if __name__ == "__main__":
    main()
