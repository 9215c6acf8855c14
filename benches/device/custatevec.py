"""Times the circuits of benches/circuits.rs through cuStateVec, one call a gate, double precision.

    python3 custatevec.py LIBRARY N [N ...]

LIBRARY is libcustatevec.so.1 (the package custatevec-cu13 on PyPI has it). Needs NumPy and CuPy, which brings the
device memory. The circuits have the gates of ours on the same qubits, the angles are drawn anew. One JSON object a
line: the median of five runs, of two from 30 qubits on, after one that is not counted.
"""

import ctypes
import json
import sys

import cupy
import numpy as np

C64, ROW = 5, 1  # CUDA_C_64F; row-major matrices
COMPUTE_64F = 16


class Library:
    def __init__(self, path):
        # The library needs cuBLAS of the CUDA that CuPy has loaded.
        cupy.cuda.Device(0).use()
        cupy.ones((2, 2)) @ cupy.ones((2, 2))
        self.lib = ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()
        self.check(self.lib.custatevecCreate(ctypes.byref(self.handle)))
        self.workspace = cupy.empty(1 << 20, dtype=np.uint8)
        self.lib.custatevecGetVersion.restype = ctypes.c_size_t

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"cuStateVec: status {status}")

    def version(self):
        return self.lib.custatevecGetVersion()

    def apply(self, state, n, matrix, targets, controls):
        ints = lambda values: (ctypes.c_int32 * max(len(values), 1))(*values)
        self.check(
            self.lib.custatevecApplyMatrix(
                self.handle, ctypes.c_void_p(state.data.ptr), C64, n, matrix.ctypes.data_as(ctypes.c_void_p), C64, ROW,
                0, ints(targets), len(targets), ints(controls), ints([1] * len(controls)), len(controls), COMPUTE_64F,
                ctypes.c_void_p(self.workspace.data.ptr), ctypes.c_size_t(self.workspace.nbytes)))


def rx(t):
    c, s = np.cos(t / 2), -1j * np.sin(t / 2)
    return np.array([[c, s], [s, c]])


def ry(t):
    c, s = np.cos(t / 2), np.sin(t / 2)
    return np.array([[c, -s], [s, c]], dtype=complex)


def rz(t):
    return np.diag([np.exp(-0.5j * t), np.exp(0.5j * t)])


X = np.array([[0, 1], [1, 0]], dtype=complex)
H = np.array([[1, 1], [1, -1]], dtype=complex) / np.sqrt(2)
SWAP = np.eye(4, dtype=complex)[[0, 2, 1, 3]]


def ring(n):
    return [(X, [(q + 1) % n], [q]) for q in range(n)]


def qcbm(n, rng):
    gates = []
    for layer in range(10):
        for q in range(n):
            names = ([rz] if layer else []) + [rx] + ([rz] if layer < 9 else [])
            gates += [(f(rng.uniform(0, 2 * np.pi)), [q], []) for f in names]
        gates += ring(n) if layer < 9 else []
    return gates


def qft(n, rng):
    gates = []
    for q in reversed(range(n)):
        gates.append((H, [q], []))
        gates += [(np.diag([1, np.exp(1j * np.pi / (1 << (q - c)))]), [q], [c]) for c in reversed(range(q))]
    return gates + [(SWAP, [q, n - 1 - q], []) for q in range(n // 2)]


def qv(n, rng):
    gates = []
    for _ in range(n):
        order = rng.permutation(n)
        for k in range(n // 2):
            z = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))
            gates.append((np.linalg.qr(z)[0], [int(order[2 * k]), int(order[2 * k + 1])], []))
    return gates


def hea(n, rng):
    gates = []
    for _ in range(4):
        for q in range(n):
            gates += [(f(rng.uniform(0, 2 * np.pi)), [q], []) for f in (ry, rz)]
        gates += ring(n)
    return gates


def reference(gates, n):
    """The state by tensor contraction."""
    state = np.zeros((2,) * n, dtype=complex)
    state[(0,) * n] = 1
    axis = lambda q: n - 1 - q
    for matrix, targets, controls in gates:
        k = len(targets)
        full = np.eye(2 ** (k + len(controls)), dtype=complex)
        full[-(2**k):, -(2**k):] = matrix
        qubits = list(reversed(targets + controls))
        full = full.reshape((2,) * (2 * len(qubits)))
        state = np.tensordot(full, state, (range(len(qubits), 2 * len(qubits)), [axis(q) for q in qubits]))
        state = np.moveaxis(state, range(len(qubits)), [axis(q) for q in qubits])
    return state.reshape(-1)


def contiguous(gates):
    return [(np.ascontiguousarray(m, dtype=np.complex128), t, c) for m, t, c in gates]


def main():
    library = Library(sys.argv[1])
    circuits = {"qcbm": qcbm, "qft": qft, "qv": qv, "hea": hea}
    for name, circuit in circuits.items():
        gates = contiguous(circuit(10, np.random.default_rng(1)))
        state = cupy.zeros(1 << 10, dtype=np.complex128)
        state[0] = 1
        for gate in gates:
            library.apply(state, 10, *gate)
        off = np.abs(cupy.asnumpy(state) - reference(gates, 10)).max()
        assert off < 1e-12, (name, off)
    for n in map(int, sys.argv[2:]):
        state = cupy.zeros(1 << n, dtype=np.complex128)
        for name, circuit in circuits.items():
            gates = contiguous(circuit(n, np.random.default_rng(1)))
            state[0] = 1
            times = []
            for _ in range(3 if n >= 30 else 6):
                start, end = cupy.cuda.Event(), cupy.cuda.Event()
                start.record()
                for gate in gates:
                    library.apply(state, n, *gate)
                end.record()
                end.synchronize()
                times.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3)
            row = {"peer": "custatevec", "version": library.version(), "workload": name, "n": n, "gates": len(gates),
                   "seconds": float(np.median(times[1:]))}
            print(json.dumps(row), flush=True)
        del state
        cupy.get_default_memory_pool().free_all_blocks()


main()
