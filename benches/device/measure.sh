#!/usr/bin/env bash
# Measures all that RESULTS.md shows of a device, the most important first, in the time that there is.
#
#     cargo build --release -p ketgrad-cuda
#     cargo build --release -p ketgrad-benches --bin device
#     benches/device/measure.sh FOLDER [SECONDS]
#
# Each part writes FOLDER/PART.jsonl and a line with its seconds and how it ended; what is left when the time is up is said
# to be left out. Where they are set:
#   SIZES       qubits, "26 28 30" if not
#   OPTIONS     options of the plugin for all parts, as "emulate_f64=/path/libkernels.so"
#   RUNS        the program made of runs.cu
#   CUSTATEVEC  the library libcustatevec.so.1: the same circuits through it, by $PYTHON with NumPy and CuPy
#   SUITE       the compiled tests of the plugin (`cargo test -p ketgrad-cuda --no-run` says where)
#   SANITIZER   compute-sanitizer
set -u
cd "$(dirname "$0")/../.."
out=${1:?usage: measure.sh FOLDER [SECONDS]}
end=$((SECONDS + ${2:-600}))
read -ra sizes <<<"${SIZES:-26 28 30}"
read -ra options <<<"${OPTIONS:-}"
largest=${sizes[-1]}
mkdir -p "$out"

part() { # NAME COMMAND…
    local name=$1 start=$SECONDS left=$((end - SECONDS))
    shift
    [ "$left" -gt 0 ] || { echo "$name: left out, the time is up"; return; }
    timeout "$left" "$@" >"$out/$name.jsonl" 2>"$out/$name.err"
    local status=$?
    [ -s "$out/$name.err" ] || rm -f "$out/$name.err"
    echo "$name: $((SECONDS - start)) s, status $status"
}
device() { # NAME ARGUMENT…, at all sizes unless it says which
    local name=$1 n=()
    shift
    [[ " $* " == *" n="* ]] || n=("${sizes[@]/#/n=}")
    part "$name" target/release/device target/release/libketgrad_cuda.so "${n[@]}" ${options[@]+"${options[@]}"} "$@"
}

# Right first, then what has not been measured before.
device conform-f64 conform n=12 n=22 n="$largest"
device conform-f32 f32 conform n=12 n=22 n="$largest"
[ -z "${SUITE:-}" ] || part suite "$SUITE"
device circuits circuits stages_after=18446744073709551615
device circuits-of-stages circuits stages_after=0
device gates gates
[ -z "${RUNS:-}" ] || part runs "$RUNS"
[ -z "${CUSTATEVEC:-}" ] || part custatevec "${PYTHON:-python3}" benches/device/custatevec.py "$CUSTATEVEC" "${sizes[@]}"
device gradient gradient n=20 n=24 n=26
device values-and-moves values moves n="${sizes[0]}" n="$largest"
device check check n="${sizes[0]}" n="$largest"
device circuits-f32 f32 circuits
for tool in ${SANITIZER:+memcheck racecheck synccheck initcheck}; do
    part "$tool" "$SANITIZER" --tool "$tool" target/release/device target/release/libketgrad_cuda.so n=12 conform
done
