"""Unitary coupled cluster with singles and doubles (UCCSD), its state and a gradient, beside qulacs.

    python3 excitations.py SPEED N [THREADS]

SPEED is the program (`cargo build --release -p ketgrad-benches --bin speed`). Needs qulacs from PyPI. N spin orbitals with N / 2
electrons; each exponential is one multi-Pauli rotation there, of strings that the program prints, and the gradient of the sum of all
Z is `backprop`. Both take three turns, and medians are compared. The program's times begin with the circuit and the parameters,
those of qulacs with a circuit that is made. One JSON object: seconds, and the ratios of the program's over those of qulacs.
"""

import json
import os
import statistics
import subprocess
import sys
import time

THREADS = sys.argv[3] if len(sys.argv) > 3 else "1"
os.environ["OMP_NUM_THREADS"] = THREADS

from qulacs import Observable, ParametricQuantumCircuit, QuantumState


def program(*words):
    return subprocess.run([*sys.argv[1:2], "excitations", *words], capture_output=True, text=True, check=True).stdout


def timed(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def main():
    n = int(sys.argv[2])
    circuit = ParametricQuantumCircuit(n)
    for q in range(n // 2):
        circuit.add_X_gate(q)
    for line in program(str(n), "strings").splitlines():
        k, factor, string = line.split(";")
        qubits = [int(word[1:]) for word in string.split()]
        letters = ["IXYZ".index(word[0]) for word in string.split()]
        # exp(i angle/2 P)
        circuit.add_parametric_multi_Pauli_rotation_gate(qubits, letters, -0.01 * int(k) * float(factor))
    observable = Observable(n)
    for q in range(n):
        observable.add_operator(1.0, f"Z {q}")
    state = QuantumState(n)

    def run():
        state.set_zero_state()
        circuit.update_quantum_state(state)

    ours, theirs = [], []
    for _ in range(3):
        ours.append(json.loads(program(str(n), THREADS)))
        theirs.append({"run": timed(run), "gradient": timed(lambda: circuit.backprop(observable))})
    row = {"n": n, "threads": int(THREADS)}
    for what in ("run", "gradient"):
        mine, other = (statistics.median(t[what] for t in times) for times in (ours, theirs))
        row |= {what: mine, f"{what} qulacs": other, f"{what} ratio": mine / other}
    print(json.dumps(row))


main()
