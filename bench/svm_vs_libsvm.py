"""The SVM of one precomputed kernel: Margrove against LIBSVM, in one run.

    ninja -C build-bench bench_mkl_tables
    python bench/svm_vs_libsvm.py build-bench/bench/bench_mkl_tables [N]

Both solve the same matrix at tolerance 1e-3 with shrinking; CPU seconds of training alone. LIBSVM
is libsvm-official's C library (kernel type "precomputed") and scikit-learn's copy of it.
"""

import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from libsvm.svmutil import svm_problem, svm_train
from sklearn.svm import SVC


def dual(K: Any, signed_alpha: Any, y: Any) -> float:
    return float(y @ signed_alpha - signed_alpha @ K @ signed_alpha / 2)


def main() -> None:
    program, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    with tempfile.TemporaryDirectory() as folder:
        lines = subprocess.run(
            [program, "--libsvm", str(n), folder], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        K = np.fromfile(f"{folder}/K.f32", np.float32).reshape(n, n).astype(float)
        y = np.fromfile(f"{folder}/y.f32", np.float32).astype(float)
    rows = np.hstack([np.arange(1, n + 1)[:, None], K])
    problem = svm_problem(y, rows, isKernel=True)
    print(
        "C, margrove s, libsvm s, scikit-learn s, ratio to libsvm, relative difference of the "
        "dual, training accuracy (margrove, libsvm)"
    )
    for line in lines:
        C, seconds, objective, _, right, _ = map(float, line.split())
        begin = time.process_time()
        model = svm_train(problem, f"-t 4 -c {C} -e 0.001 -m 2000 -q")
        libsvm_seconds = time.process_time() - begin
        u = np.zeros(n)
        for i, coefficient in zip(model.get_sv_indices(), model.get_sv_coef(), strict=True):
            u[i - 1] = coefficient[0]
        if model.get_labels()[0] < 0:
            u = -u
        predicted = np.sign(K @ u - (model.rho[0] if model.get_labels()[0] > 0 else -model.rho[0]))
        begin = time.process_time()
        SVC(C=C, kernel="precomputed", tol=1e-3, cache_size=2000).fit(K, y)
        sklearn_seconds = time.process_time() - begin
        print(
            f"{C:g}, {seconds:.3f}, {libsvm_seconds:.3f}, {sklearn_seconds:.3f}, "
            f"{seconds / libsvm_seconds:.2f}, "
            f"{abs(objective - dual(K, u, y)) / objective:.1e}, "
            f"{right / n:.4f}, {np.mean(predicted == y):.4f}"
        )


if __name__ == "__main__":
    main()
