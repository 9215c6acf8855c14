// What a device's memory gives for some runs of bytes among others: every second or fourth run of 32 to 256 bytes is read,
// changed and written, with as many threads under way as fit and with fewer. A gate with a control among the lowest qubits
// asks for that, and no kernel of it can be faster than the best line here.
//
//     nvcc -O3 -arch=native -o runs benches/device/runs.cu && ./runs [QUBITS]
//
// One JSON object a line; `share` is of the bytes a second that a copy reads and writes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

typedef unsigned long long u64;

static void check(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
}

// Multiplies by i the amplitudes whose bits `ones` are set, each thread EACH of them: their numbers are their indices without
// those bits.
template <int EACH> __global__ void change(double2 *state, u64 below, u64 ones, int bits) {
    const u64 number = (u64)blockIdx.x * blockDim.x * EACH + threadIdx.x;
    double2 some[EACH];
    u64 index[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const u64 i = number + (u64)k * blockDim.x;
        index[k] = (i & below) | (i & ~below) << bits | ones;
        some[k] = state[index[k]];
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) state[index[k]] = make_double2(-some[k].y, some[k].x);
}

template <class Work> static double median_seconds(Work work) {
    cudaEvent_t start, end;
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    std::vector<float> times;
    for (int run = 0; run < 8; run++) {
        check(cudaEventRecord(start), "cudaEventRecord");
        for (int k = 0; k < 4; k++) work();
        check(cudaEventRecord(end), "cudaEventRecord");
        check(cudaEventSynchronize(end), "cudaEventSynchronize");
        float milliseconds;
        check(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
        if (run) times.push_back(milliseconds / 4e3f);
    }
    check(cudaGetLastError(), "launch");
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

template <int EACH> static void measure(double2 *state, u64 count, int first, int bits, double copy) {
    for (int shared : {0, 27 << 10, 36 << 10, 56 << 10, 110 << 10}) {
        check(cudaFuncSetAttribute(change<EACH>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), "shared memory");
        const u64 below = (1ull << first) - 1, ones = ((1ull << bits) - 1) << first, changed = count >> bits;
        const unsigned blocks = (unsigned)(changed / (256 * EACH));
        const double seconds = median_seconds([&] { change<EACH><<<blocks, 256, shared>>>(state, below, ones, bits); });
        std::printf("{\"suite\": \"runs\", \"run_bytes\": %d, \"one_of\": %d, \"each\": %d, \"shared\": %d, \"seconds\": %.4e, "
                    "\"share\": %.3f}\n",
                    16 << first, 1 << bits, EACH, shared, seconds, 32.0 * changed / seconds / copy);
    }
}

int main(int argc, char **argv) {
    const int qubits = argc > 1 ? std::atoi(argv[1]) : 28;
    if (qubits < 16 || qubits > 30) return std::fprintf(stderr, "qubits: 16 to 30\n"), 1;
    const u64 count = 1ull << qubits, bytes = count * sizeof(double2);
    double2 *state, *other;
    check(cudaMalloc(&state, bytes), "cudaMalloc");
    check(cudaMalloc(&other, bytes), "cudaMalloc");
    check(cudaMemset(state, 0x3c, bytes), "cudaMemset");
    const double seconds = median_seconds([&] { cudaMemcpyAsync(other, state, bytes, cudaMemcpyDeviceToDevice); });
    const double copy = 2.0 * bytes / seconds;
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    std::printf("{\"suite\": \"copy\", \"device\": \"%s\", \"n\": %d, \"bytes_per_second\": %.4e}\n", device.name, qubits, copy);
    for (int bits : {1, 2}) {
        for (int first : {1, 2, 3, 4}) {
            measure<1>(state, count, first, bits, copy);
            measure<4>(state, count, first, bits, copy);
        }
    }
    return 0;
}
