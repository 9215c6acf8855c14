"""Circuits with noise beside Qiskit Aer and qulacs: the same probabilities, and the time of each.

    OMP_NUM_THREADS=1 python3 noise.py KETGRAD [REPEATS]

KETGRAD is the program (`cargo build --release --bin ketgrad`). Needs qiskit-aer, qulacs and NumPy from PyPI. The circuits are four
layers of RX and RZ on each qubit and a chain of CX, with depolarizing noise after every gate and, in rows that say so, amplitude
damping after gates on one qubit. Everything on one thread; each row is measured in turns of all three, and what is compared are
medians of the times that the programs themselves give for the simulation, without reading the circuit. First, where
density matrices run the circuit, all three must have the same probabilities. One JSON object a line.
"""

import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time


import numpy as np
import qulacs
from qiskit import QuantumCircuit
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, amplitude_damping_error, depolarizing_error
from qulacs.gate import CNOT, RX, RZ, AmplitudeDampingNoise, DepolarizingNoise, TwoQubitDepolarizingNoise

LAYERS = 4
ONE, TWO = 3e-4, 5e-3  # depolarizing
DAMPING = 1e-3
AGREE = 1e-10


def gates(n):
    rng = random.Random(5)
    for _ in range(LAYERS):
        for q in range(n):
            yield "rx", rng.uniform(-3, 3), (q,)
            yield "rz", rng.uniform(-3, 3), (q,)
        for q in range(n - 1):
            yield "cx", None, (q, q + 1)


class Ketgrad:
    def __init__(self, program, folder, n, method, shots, damped):
        self.program, self.shots = program, shots
        lines = ["OPENQASM 3.0;", 'include "stdgates.inc";', f"qubit[{n}] q;", f"bit[{n}] c;"]
        for name, angle, qubits in gates(n):
            angle = "" if angle is None else f"({angle!r})"
            lines.append(f"{name}{angle} " + ", ".join(f"q[{q}]" for q in qubits) + ";")
        model = [f'[[noise]]\nwidth = 1\nchannel = "depolarizing"\nparameters = [{ONE}]']
        model.append(f'[[noise]]\nwidth = 2\nchannel = "two_qubit_depolarizing"\nparameters = [{TWO}]')
        if damped:
            model.append(f'[[noise]]\nwidth = 1\nchannel = "amplitude_damping"\nparameters = [{DAMPING}]')
        self.files = [os.path.join(folder, name) for name in ("circuit.qasm", "noise.toml")]
        for path, text in zip(self.files, ("\n".join(lines + ["c = measure q;"]), "\n".join(model))):
            with open(path, "w") as file:
                file.write(text)
        self.method = method

    def run(self):
        what = ["--probabilities"] if self.method == "density" else ["--shots", str(self.shots)]
        command = [self.program, "run", self.files[0], "--noise", self.files[1], "--method", self.method]
        done = subprocess.run(command + what + ["--threads", "1", "--json"], capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        return answer["seconds"], answer.get("probabilities")


class Aer:
    def __init__(self, n, method, shots, damped):
        circuit, self.shots = QuantumCircuit(n), shots
        for name, angle, qubits in gates(n):
            getattr(circuit, name)(*([] if angle is None else [angle]), *qubits)
        # Qiskit's parameter is 4^n / (4^n - 1) of the probability of an error.
        one, two = depolarizing_error(ONE * 4 / 3, 1), depolarizing_error(TWO * 16 / 15, 2)
        if damped:
            one = one.compose(amplitude_damping_error(DAMPING))
        model = NoiseModel()
        model.add_all_qubit_quantum_error(one, ["rx", "rz"])
        model.add_all_qubit_quantum_error(two, ["cx"])
        self.density = method == "density"
        circuit.save_probabilities() if self.density else circuit.measure_all()
        name = "density_matrix" if self.density else "statevector"
        self.simulator = AerSimulator(method=name, noise_model=model, max_parallel_threads=1)
        self.circuit = circuit

    def run(self):
        result = self.simulator.run(self.circuit, shots=self.shots or 1, seed_simulator=1).result()
        if not result.success:
            raise RuntimeError(result.status)
        return result.results[0].time_taken, result.data()["probabilities"] if self.density else None


class Qulacs:
    def __init__(self, n, method, shots, damped):
        self.n, self.density, self.shots = n, method == "density", shots
        self.circuit = qulacs.QuantumCircuit(n)
        add = self.circuit.add_gate
        for name, angle, qubits in gates(n):
            if name == "cx":
                add(CNOT(*qubits))
                add(TwoQubitDepolarizingNoise(*qubits, TWO))
                continue
            # Its rotations go the other way.
            add({"rx": RX, "rz": RZ}[name](qubits[0], -angle))
            add(DepolarizingNoise(qubits[0], ONE))
            if damped:
                add(AmplitudeDampingNoise(qubits[0], DAMPING))

    def run(self):
        if self.density:
            rho = qulacs.DensityMatrix(self.n)
            start = time.perf_counter()
            self.circuit.update_quantum_state(rho)
            return time.perf_counter() - start, np.diag(rho.get_matrix()).real
        start = time.perf_counter()
        qulacs.NoiseSimulator(self.circuit, qulacs.QuantumState(self.n)).execute(self.shots)
        return time.perf_counter() - start, None


def main():
    program, repeats = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rows = [(n, "density", 0, False) for n in (4, 6, 8, 10, 11)] + [(8, "density", 0, True)]
    rows += [(n, "trajectories", 1000, False) for n in (4, 8, 12, 16)] + [(20, "trajectories", 100, False)]
    rows += [(12, "trajectories", 1000, True)]
    with tempfile.TemporaryDirectory() as folder:
        for n, method, shots, damped in rows:
            all_three = {
                "ketgrad": Ketgrad(program, folder, n, method, shots, damped),
                "aer": Aer(n, method, shots, damped),
                "qulacs": Qulacs(n, method, shots, damped),
            }
            # Its simulator of shots takes mixtures only, and its density matrix of 11 qubits takes minutes.
            if (damped and method == "trajectories") or (method == "density" and n > 10):
                del all_three["qulacs"]
            times, shown = {name: [] for name in all_three}, {}
            for _ in range(repeats if n < 16 or method == "density" else max(1, repeats // 2)):
                for name, one in all_three.items():
                    seconds, shown[name] = one.run()
                    times[name].append(seconds)
            if method == "density":
                off = max(np.abs(np.array(shown["ketgrad"]) - np.array(shown[name])).max() for name in times if name != "ketgrad")
                if not off < AGREE:
                    raise RuntimeError(f"probabilities differ by {off}")
            row = {"n": n, "method": method, "shots": shots, "damped": damped}
            row.update({name: statistics.median(t) for name, t in times.items()})
            row.update({f"over_{name}": row["ketgrad"] / row[name] for name in times if name != "ketgrad"})
            row["spread"] = max(max(t) / min(t) for t in times.values())
            row = {k: float(f"{v:.3g}") if isinstance(v, float) and math.isfinite(v) else v for k, v in row.items()}
            print(json.dumps(row), flush=True)


main()
