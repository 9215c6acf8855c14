"""Sums of Pauli strings applied, evolution by them and their ground states beside scipy's sparse matrices.

    OMP_NUM_THREADS=1 python3 levels.py LEVELS [N ...]

LEVELS is the program (`cargo build --release -p ketgrad-benches --bin levels`). Needs SciPy from PyPI. For each N (18) the program
and scipy take three turns on one thread, and medians are compared. The matrix is made before scipy's time begins, real numbers
in rows (CSR): a product with a state, `expm_multiply`, `eigsh` (ARPACK) to a residual of 1e-11. Both must find the same energies.
One JSON object a line: seconds, and the ratios of the program's over scipy's.
"""

import json
import statistics
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

AGREE = 1e-9


def parity(x):
    for shift in (32, 16, 8, 4, 2, 1):
        x = x ^ (x >> shift)
    return x & 1


def strings(name, n):
    bonds = [(1 << k) | (1 << (k + 1) % n) for k in range(n)]
    if name == "ising":
        return [(-1, 0, m) for m in bonds] + [(-1, 1 << k, 0) for k in range(n)]
    return [s for m in bonds for s in ((1, m, 0), (1, m, m), (1, 0, m))]


def matrix(name, n):
    """A string `c i^|x & z| X^x Z^z` is given as (c, x, z)."""
    i = np.arange(1 << n)
    rows = {}
    for c, x, z in strings(name, n):
        factor = c * (1j ** bin(x & z).count("1")).real
        rows[x] = rows.get(x, 0) + factor * (1 - 2 * parity(i & z))
    total = sparse.csr_matrix((1 << n, 1 << n))
    for x, values in rows.items():
        kept = values != 0
        total = total + sparse.csr_matrix((values[kept], (i[kept] ^ x, i[kept])), shape=total.shape)
    return total


def timed(f):
    start = time.perf_counter()
    result = f()
    return time.perf_counter() - start, result


def main():
    program, sizes = sys.argv[1], [int(n) for n in sys.argv[2:]] or [18]
    for n in sizes:
        ours, theirs = {}, {}
        matrices = {name: matrix(name, n) for name in ("ising", "heisenberg")}
        for _ in range(3):
            out = subprocess.run([program, f"n={n}", "repeats=1"], capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                row = json.loads(line)
                ours.setdefault(row["sum"], []).append(row)
            for name, m in matrices.items():
                rng = np.random.default_rng(1)
                psi = rng.normal(size=1 << n) + 1j * rng.normal(size=1 << n)
                psi /= np.linalg.norm(psi)
                row = {"applied": statistics.median(timed(lambda: m @ psi)[0] for _ in range(5))}
                row["evolve"] = timed(lambda: linalg.expm_multiply(-0.5j * m, psi, traceA=0))[0]
                row["ground"], w = timed(lambda: linalg.eigsh(m, k=1, which="SA", tol=1e-11, v0=psi.real)[0])
                row["energy"] = w[0]
                theirs.setdefault(name, []).append(row)
        for name in matrices:
            apart = abs(ours[name][0]["energy"] - theirs[name][0]["energy"])
            assert apart < AGREE * n, (name, n, apart)
            row = {"sum": name, "n": n}
            for key in ("applied", "evolve", "ground"):
                mine, other = (statistics.median(r[key] for r in rows[name]) for rows in (ours, theirs))
                row |= {key: mine, f"{key}_scipy": other, f"{key}_ratio": mine / other}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
