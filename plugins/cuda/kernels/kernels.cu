/* Kernels of the CUDA backend, in the common subset of C11 and CUDA C++.
 *
 * For a device: NVRTC, once with -DREAL=double and once with -DREAL=float. With -DKETGRAD_EMULATE the C compiler makes
 * a library of it that runs the same kernels on the processor, block by block, and the threads of a block one after
 * the other between two barriers: so the index mathematics is tested where there is no device. For that a kernel keeps
 * nothing of a thread across SYNC() but in shared memory.
 *
 * An amplitude i belongs to the basis state whose bits are those of i, qubit 0 the least significant.
 */

typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef KETGRAD_EMULATE

#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define DEVICE static inline
#define KERNEL static void
#define LAUNCH_BOUNDS(threads, blocks)
#define RESTRICT restrict
#define UNROLL
#define SYNC()
#define FOR_THREADS(t) for (u32 t = 0; t < emu_threads; t++)
#define PARITY(x) ((u32)__builtin_parity(x))
#define PARITY64(x) ((u32)__builtin_parityll(x))

static _Thread_local u32 emu_threads, emu_blocks, emu_block;
static _Thread_local unsigned char *emu_shared;
#define THREADS emu_threads
#define BLOCKS emu_blocks
#define BLOCK emu_block
#define SHARED(type, name) type *const name = (type *)emu_shared

/* emu_NAME(blocks, threads, shared, params) launches NAME with parameters packed as for cuLaunchKernel. */
#define EMULATE(NAME, ...)                                                                        \
    void emu_##NAME(u32 blocks, u32 threads, void *shared, void **params) {                       \
        emu_blocks = blocks, emu_threads = threads, emu_shared = (unsigned char *)shared;         \
        for (emu_block = 0; emu_block < blocks; emu_block++) NAME(__VA_ARGS__);                   \
    }
#define P(TYPE, K) *(TYPE *)params[K]

#else

#define ALIGNED(bytes) __align__(bytes)
#define DEVICE static __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define RESTRICT __restrict__
#define UNROLL _Pragma("unroll")
#define SYNC() __syncthreads()
#define FOR_THREADS(t) for (u32 t = threadIdx.x, once = 1; once; once = 0)
#define PARITY(x) (__popc(x) & 1u)
#define PARITY64(x) ((u32)__popcll(x) & 1u)

#define THREADS blockDim.x
#define BLOCKS gridDim.x
#define BLOCK blockIdx.x
#define SHARED(type, name)                                   \
    extern __shared__ ALIGNED(16) unsigned char shared_bytes[]; \
    type *const name = (type *)shared_bytes
#define EMULATE(NAME, ...)

#endif

#define IS_DOUBLE (sizeof(REAL) == 8)

/* A complex number. */
typedef struct ALIGNED(2 * sizeof(REAL)) {
    REAL x, y;
} REAL2;

/* a b + c with one rounding on a device, and a b that is not taken into such a sum: the arithmetic of gates is spelt
 * out, so that it is the same to the last bit wherever the compiler finds it. */
#ifdef KETGRAD_EMULATE
#define FMA(a, b, c) ((a) * (b) + (c))
#define MUL(a, b) ((a) * (b))
#else
DEVICE double MUL(double a, double b) { return __dmul_rn(a, b); }
DEVICE float MUL(float a, float b) { return __fmul_rn(a, b); }
DEVICE double FMA(double a, double b, double c) { return __fma_rn(a, b, c); }
DEVICE float FMA(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#endif

DEVICE REAL2 times(REAL2 a, REAL2 b) {
    REAL2 c;
    c.x = FMA(-a.y, b.y, MUL(a.x, b.x));
    c.y = FMA(a.y, b.x, MUL(a.x, b.y));
    return c;
}

/* a + b c */
DEVICE REAL2 plus_times(REAL2 a, REAL2 b, REAL2 c) {
    a.x = FMA(-b.y, c.y, FMA(b.x, c.x, a.x));
    a.y = FMA(b.y, c.x, FMA(b.x, c.y, a.y));
    return a;
}

/* ---- Stages: many gates for one pass over memory ------------------------------------------------------------------
 *
 * A tile of 2^bits amplitudes, whose indices differ in the qubits of the stage alone, is gathered into shared memory;
 * all gates of the stage run there; it is scattered back. A gate step takes 2^ROWS amplitudes into registers: the
 * places b + (span of ROWS vectors over GF(2)). Which vectors, which gates, and what each place of the tile means is
 * data, written by src/stage.rs:
 *
 *   header   words, at `stage`
 *     0 bits              log2 of the amplitudes of a tile
 *     1 steps             how many
 *     2 first step        as an index of `words`, like all that follow
 *     3 groups            groups of phases: how many,
 *     4 first group       (inner parity, first term, end) each
 *     5 terms             (outer parity) each
 *     6 term numbers      (re, im) each: an index of `numbers`
 *     7 first constant    groups with inner parity 0 are factors of the whole tile:
 *     8 end of them
 *     9 tile runs         how many; (bit of the tile's number, bits, bit of the index) each
 *    10 first of them
 *    11 place runs        the same for the places of a tile
 *    12 first of them
 *    13 high places       for each place k STAGE_THREADS its index offset, 2 words, its slot, and what it adds to the slot at
 *                        the end
 *    14 exit              slots that the bits of a logical place add, one word each, `bits` of them
 *    15 shifts            how many; (outer parity, flip, slot) each: added where parity and flip differ
 *    16 first of them
 *    17 scale             (re, im): an index of `numbers`
 *    18 looks             inner products: how many (two states)
 *
 *   step
 *     0 words of it
 *     1 table             one word for each set of places: its first place, and its slot << 16
 *     2.. slots           that the ROWS vectors add
 *     then actions, each a kind and
 *       PHASES  first, end of the groups whose parity the vectors leave alone; n; n times (pattern, first, end)
 *       TURN    mask, pattern, inner, outer, number of the tangent
 *       DENSE   two row bits j + 4 k, number of the matrix
 *       LOOK    mask, pattern, inner, outer, real, which
 *       END
 *     or, alone in its step and without vectors, a matrix on all sets of four places, b being one of each:
 *       MATRIX  slots of its two bits, number of the matrix
 *
 * A mask tells which vectors an action adds to a place; a pattern, which vectors change the parity that it reads.
 * Places are spread over the banks of shared memory by `slot`, which is linear over GF(2).
 */

#define ROWS_double 3
#define ROWS_float 4
#define JOINED(a, b) a##b
#define ROWS_OF(real) JOINED(ROWS_, real)
#define ROWS ROWS_OF(REAL)
#define LOCALS (1u << ROWS)

/* Threads of a block of a stage. */
#define STAGE_THREADS 256u

/* How many loads of a thread, how many products of a warp are under way at a time. */
#define AT_ONCE 8u
#define MATRICES_AT_ONCE 8u

/* Sets of four places that the warps of a block take together. */
#define STRIDE (STAGE_THREADS / 4)

enum { PHASES, TURN, DENSE, LOOK, END, MATRIX };

/* Parities of the numbers below 16. */
#define PARITIES 0x6996u
#define LOCAL_PARITY(x) (PARITIES >> (x) & 1u)

DEVICE REAL negated(REAL x, u32 odd) { return odd ? -x : x; }

DEVICE REAL2 conjugated(REAL2 z, u32 odd) {
    z.y = odd ? -z.y : z.y;
    return z;
}

/* Places bits as runs of bits say. */
DEVICE u64 spread(u64 bits, const u32 *RESTRICT runs, u32 count) {
    u64 index = 0;
    for (u32 r = 0; r < count; r++) {
        const u32 from = runs[3 * r], width = runs[3 * r + 1], to = runs[3 * r + 2];
        index |= (bits >> from & (((u64)1 << width) - 1)) << to;
    }
    return index;
}

/* The product of the phases of some groups at place b. */
DEVICE REAL2 phase(const REAL2 *z, const u32 *RESTRICT groups, u32 first, u32 end, u32 b) {
    REAL2 product = conjugated(z[first], PARITY(groups[3 * first] & b));
    for (u32 g = first + 1; g < end; g++) product = times(product, conjugated(z[g], PARITY(groups[3 * g] & b)));
    return product;
}

DEVICE void multiply(REAL2 *a, REAL2 even, REAL2 odd, u32 pattern) {
    UNROLL
    for (u32 l = 0; l < LOCALS; l++) {
        const u32 s = LOCAL_PARITY(pattern & l);
        REAL2 f;
        f.x = s ? odd.x : even.x;
        f.y = s ? odd.y : even.y;
        a[l] = times(a[l], f);
    }
}

/* a[l] and a[l ^ mask] turned by [1 -t; t 1], the first being the one whose parity is even. */
#define TURN_BY(MASK)                                             \
    case MASK:                                                    \
        UNROLL for (u32 l = 0; l < LOCALS; l++) {                 \
            if ((l ^ (MASK)) > l) {                               \
                const REAL t = LOCAL_PARITY(pattern & l) ? -tan : tan; \
                const REAL2 x = a[l], y = a[(l ^ (MASK)) % LOCALS]; \
                a[l].x = FMA(-t, y.x, x.x);                       \
                a[l].y = FMA(-t, y.y, x.y);                       \
                a[(l ^ (MASK)) % LOCALS].x = FMA(t, x.x, y.x);    \
                a[(l ^ (MASK)) % LOCALS].y = FMA(t, x.y, y.y);    \
            }                                                     \
        }                                                         \
        break;

DEVICE void turn(REAL2 *a, u32 mask, u32 pattern, REAL tan) {
    switch (mask) {
        TURN_BY(1)
        TURN_BY(2)
        TURN_BY(3)
        TURN_BY(4)
        TURN_BY(5)
        TURN_BY(6)
        TURN_BY(7)
#if ROWS > 3
        TURN_BY(8)
        TURN_BY(9)
        TURN_BY(10)
        TURN_BY(11)
        TURN_BY(12)
        TURN_BY(13)
        TURN_BY(14)
        TURN_BY(15)
#endif
    }
}

/* The 4x4 matrix on local bits J < K; bit 0 of a row is J. */
#define DENSE_ON(J, K)                                                                   \
    case J + 4 * K:                                                                      \
        UNROLL for (u32 l = 0; l < LOCALS; l++) {                                        \
            if (!(l >> J & 1u) && !(l >> K & 1u)) {                                      \
                REAL2 in[4], out[4];                                                     \
                UNROLL for (u32 c = 0; c < 4; c++) in[c] = a[(l | (c & 1u) << J | (c >> 1) << K) % LOCALS]; \
                UNROLL for (u32 r = 0; r < 4; r++) {                                     \
                    out[r] = times(m[4 * r], in[0]);                                     \
                    UNROLL for (u32 c = 1; c < 4; c++) out[r] = plus_times(out[r], m[4 * r + c], in[c]); \
                }                                                                        \
                UNROLL for (u32 r = 0; r < 4; r++) a[(l | (r & 1u) << J | (r >> 1) << K) % LOCALS] = out[r]; \
            }                                                                            \
        }                                                                                \
        break;

DEVICE void block(REAL2 *a, u32 bits, const REAL2 *RESTRICT m) {
    switch (bits) {
        DENSE_ON(0, 1)
        DENSE_ON(0, 2)
        DENSE_ON(1, 2)
#if ROWS > 3
        DENSE_ON(0, 3)
        DENSE_ON(1, 3)
        DENSE_ON(2, 3)
#endif
    }
}

/* The sum over a thread's places of one part of (+-) conj(lambda[l ^ mask]) psi[l]. */
#define LOOK_AT(MASK)                                                               \
    case MASK:                                                                      \
        UNROLL for (u32 l = 0; l < LOCALS; l++) {                                   \
            const REAL2 p = psi[l], q = lambda[(l ^ (MASK)) % LOCALS];              \
            const REAL v = real ? FMA(q.y, p.y, MUL(q.x, p.x))                      \
                                : FMA(-q.y, p.x, MUL(q.x, p.y));                    \
            sum += LOCAL_PARITY(pattern & l) ? -v : v;                              \
        }                                                                           \
        break;

DEVICE REAL look(const REAL2 *psi, const REAL2 *lambda, u32 mask, u32 pattern, u32 real) {
    REAL sum = 0;
    switch (mask) {
        LOOK_AT(0)
        LOOK_AT(1)
        LOOK_AT(2)
        LOOK_AT(3)
        LOOK_AT(4)
        LOOK_AT(5)
        LOOK_AT(6)
        LOOK_AT(7)
#if ROWS > 3
        LOOK_AT(8)
        LOOK_AT(9)
        LOOK_AT(10)
        LOOK_AT(11)
        LOOK_AT(12)
        LOOK_AT(13)
        LOOK_AT(14)
        LOOK_AT(15)
#endif
    }
    return sum;
}

/* The sum over the threads of a warp, in its first thread. Where threads run one after another each adds its own. */
DEVICE double warp_sum(double v) {
#ifndef KETGRAD_EMULATE
    for (u32 lanes = 16; lanes; lanes >>= 1) v += __shfl_down_sync(0xffffffffu, v, lanes);
#endif
    return v;
}

#ifdef KETGRAD_EMULATE
#define FIRST_OF_WARP(t) 1
#else
#define FIRST_OF_WARP(t) (((t)&31u) == 0)
#endif

/* Adds an inner product to the sums of the warp. */
#define ADD_LOOK(mask, pattern, odd, real, which)                                                       \
    {                                                                                                   \
        const double v = look(psi, lambda, mask, pattern, real), sum = warp_sum((odd) ? -v : v);        \
        if (FIRST_OF_WARP(t)) sums[(t >> 5) * looks + (which)] += sum;                                  \
    }

/* All actions of a step on one set of places; `lambda` and `sums` for two states only. */
#define ACTIONS(TWO)                                                                                    \
    for (;;) {                                                                                          \
        const u32 kind = *w++;                                                                          \
        if (kind == END) break;                                                                         \
        if (kind == TURN) {                                                                             \
            const REAL by = negated(numbers[w[4]], PARITY((w[2] & b) ^ (w[3] & tile)));                 \
            turn(psi, w[0], w[1], by);                                                                  \
            if (TWO) turn(lambda, w[0], w[1], by);                                                      \
            w += 5;                                                                                     \
        } else if (kind == PHASES) {                                                                    \
            const u32 first = w[0], end = w[1], n = w[2];                                               \
            REAL2 whole, even, odd;                                                                     \
            w += 3;                                                                                     \
            if (first < end) whole = phase(z, groups, first, end, b);                                   \
            for (u32 k = 0; k < n; k++, w += 3) {                                                       \
                even = phase(z, groups, w[1], w[2], b);                                                 \
                odd = conjugated(even, 1);                                                              \
                if (k == 0 && first < end) even = times(even, whole), odd = times(odd, whole);          \
                multiply(psi, even, odd, w[0]);                                                         \
                if (TWO) multiply(lambda, even, odd, w[0]);                                             \
            }                                                                                           \
            if (n == 0 && first < end) {                                                                \
                multiply(psi, whole, whole, 0);                                                         \
                if (TWO) multiply(lambda, whole, whole, 0);                                             \
            }                                                                                           \
        } else if (kind == DENSE) {                                                                     \
            block(psi, w[0], (const REAL2 *)(numbers + w[1]));                                         \
            if (TWO) block(lambda, w[0], (const REAL2 *)(numbers + w[1]));                             \
            w += 2;                                                                                     \
        } else {                                                                                        \
            if (TWO) ADD_LOOK(w[0], w[1], PARITY((w[2] & b) ^ (w[3] & tile)), w[4], w[5])               \
            w += 6;                                                                                     \
        }                                                                                               \
    }

DEVICE void load(REAL2 *a, const REAL2 *parts, u32 slot, const u32 *vectors) {
    UNROLL
    for (u32 l = 0; l < LOCALS; l++) {
        u32 at = slot;
        UNROLL
        for (u32 j = 0; j < ROWS; j++) at ^= l >> j & 1u ? vectors[j] : 0u;
        a[l] = parts[at];
    }
}

DEVICE void store(const REAL2 *a, REAL2 *parts, u32 slot, const u32 *vectors) {
    UNROLL
    for (u32 l = 0; l < LOCALS; l++) {
        u32 at = slot;
        UNROLL
        for (u32 j = 0; j < ROWS; j++) at ^= l >> j & 1u ? vectors[j] : 0u;
        parts[at] = a[l];
    }
}

/* Where places go in shared memory: bits of a place that are far from each other lead to different banks. */
DEVICE u32 slot_of(u32 place) {
    if (!IS_DOUBLE) return place ^ ((place >> 4 ^ place >> 8 ^ place >> 12) & 15u);
    const u32 turned = place >> 3 ^ place >> 9;
    return place ^ ((turned ^ turned << 1 ^ (turned >> 2 & 1u) ^ place >> 6 ^ place >> 12) & 7u);
}

/* The factors of the groups of phases at a tile. */
DEVICE void tile_phases(REAL2 *z, const u32 *RESTRICT words, const REAL *RESTRICT numbers, u32 stage, u32 tile, u32 t) {
    const u32 *const groups = words + words[stage + 4], *const outer = words + words[stage + 5];
    const REAL2 *const factors = (const REAL2 *)(numbers + words[stage + 6]);
    for (u32 g = t; g < words[stage + 3]; g += STAGE_THREADS) {
        const u32 first = groups[3 * g + 1], end = groups[3 * g + 2];
        REAL2 product = conjugated(factors[first], PARITY(outer[first] & tile));
        for (u32 k = first + 1; k < end; k++)
            product = times(product, conjugated(factors[k], PARITY(outer[k] & tile)));
        z[g] = product;
    }
}

/* What a tile is multiplied by at the end. */
DEVICE REAL2 tile_scale(const REAL2 *z, const u32 *RESTRICT words, const REAL *RESTRICT numbers, u32 stage) {
    REAL2 scale = *(const REAL2 *)(numbers + words[stage + 17]);
    for (u32 g = words[stage + 7]; g < words[stage + 8]; g++) scale = times(scale, z[g]);
    return scale;
}

/* The slot from which thread t reads its first place when a tile is scattered. */
DEVICE u32 exit_slot(const u32 *RESTRICT words, u32 stage, u32 tile, u32 t) {
    const u32 *const shifts = words + words[stage + 16], *const exit = words + words[stage + 14];
    u32 slot = 0;
    for (u32 s = 0; s < words[stage + 15]; s++)
        slot ^= PARITY(shifts[3 * s] & tile) != shifts[3 * s + 1] ? shifts[3 * s + 2] : 0u;
    for (u32 bit = 0; bit < words[stage]; bit++) slot ^= t >> bit & 1u ? exit[bit] : 0u;
    return slot;
}

/* The places of a thread: t + k STAGE_THREADS. */
DEVICE const u32 *high_places(const u32 *RESTRICT words, u32 stage) { return words + words[stage + 13]; }
DEVICE u64 high_index(const u32 *RESTRICT high, u32 k) { return high[4 * k] | (u64)high[4 * k + 1] << 32; }

DEVICE u64 tile_start(const u32 *RESTRICT words, u32 stage, u32 tile) {
    return spread(tile, words + words[stage + 10], words[stage + 9]);
}

DEVICE u64 place_start(const u32 *RESTRICT words, u32 stage, u32 t) {
    return spread(t, words + words[stage + 12], words[stage + 11]);
}

/* Whether matrices in double precision go through the tensor cores. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define HAS_TENSOR_CORES IS_DOUBLE
/* c += a b of an 8x4 and a 4x8 matrix: lane i has a[i / 4][i % 4], b[i % 4][i / 4], and c[i / 4][2 (i % 4) ..]. */
DEVICE void tensor_times(double *c, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}
#else
#define HAS_TENSOR_CORES 0
DEVICE void tensor_times(double *c, double a, double b) { (void)c, (void)a, (void)b; }
#endif

/* A lane's amplitude of the product with a matrix whose entries the lanes share out. */
DEVICE REAL2 tensor_row(REAL2 v, double of_re, double of_im) {
    double out[2] = {0, 0};
    tensor_times(out, v.x, of_re);
    tensor_times(out, v.y, of_im);
    v.x = (REAL)out[0];
    v.y = (REAL)out[1];
    return v;
}

/* A 4x4 matrix on a tile. On tensor cores four lanes share a set of places, each with one of its amplitudes: eight sets
 * are the rows of a product with the 8x8 real matrix, whose entries the lanes share out. */
DEVICE void matrix_on(REAL2 *parts, const u32 *RESTRICT table, u32 low, u32 high, const REAL2 *RESTRICT m, u32 size,
                      u32 t) {
    if (HAS_TENSOR_CORES) {
        const u32 lane = t & 31u, column = lane >> 2, row = lane & 3u;
        const REAL2 entry = m[4 * (column >> 1) + row];
        const double of_re = column & 1u ? entry.y : entry.x, of_im = column & 1u ? entry.x : -entry.y;
        const u32 offset = (row & 1u ? low : 0u) ^ (row & 2u ? high : 0u);
        /* Several at a time, so that one waits while others are worked on. */
        const u32 *set = table + (t >> 5 << 3) + column, *const end = table + (size >> 2);
        for (; set + (MATRICES_AT_ONCE - 1) * STRIDE < end; set += MATRICES_AT_ONCE * STRIDE) {
            REAL2 *at[MATRICES_AT_ONCE];
            REAL2 v[MATRICES_AT_ONCE];
            UNROLL
            for (u32 k = 0; k < MATRICES_AT_ONCE; k++) at[k] = parts + (set[k * STRIDE] >> 16 ^ offset);
            UNROLL
            for (u32 k = 0; k < MATRICES_AT_ONCE; k++) v[k] = *at[k];
            UNROLL
            for (u32 k = 0; k < MATRICES_AT_ONCE; k++) *at[k] = tensor_row(v[k], of_re, of_im);
        }
        for (; set < end; set += STRIDE) {
            REAL2 *const at = parts + (*set >> 16 ^ offset);
            *at = tensor_row(*at, of_re, of_im);
        }
        return;
    }
    for (u32 c = t; c < size >> 2; c += STAGE_THREADS) {
        const u32 slot = table[c] >> 16;
        REAL2 in[4];
        UNROLL
        for (u32 r = 0; r < 4; r++) in[r] = parts[slot ^ (r & 1u ? low : 0u) ^ (r & 2u ? high : 0u)];
        UNROLL
        for (u32 r = 0; r < 4; r++) {
            REAL2 sum = times(m[4 * r], in[0]);
            UNROLL
            for (u32 k = 1; k < 4; k++) sum = plus_times(sum, m[4 * r + k], in[k]);
            parts[slot ^ (r & 1u ? low : 0u) ^ (r & 2u ? high : 0u)] = sum;
        }
    }
}

/* The step that says which. */
DEVICE void matrix_step(REAL2 *parts, const u32 *RESTRICT words, const u32 *step, const REAL *RESTRICT numbers,
                        u32 size, u32 t) {
    const REAL2 *const m = (const REAL2 *)(numbers + step[5 + ROWS]);
    matrix_on(parts, words + step[1], step[3 + ROWS], step[4 + ROWS], m, size, t);
}

/* Reads a thread's part of a tile, several loads at a time. */
DEVICE void gather(REAL2 *parts, const REAL2 *from, const u32 *RESTRICT words, u32 stage, u32 t) {
    const u32 *high = high_places(words, stage);
    const u32 slot = slot_of(t), count = (1u << words[stage]) / STAGE_THREADS;
    u32 k = 0;
    for (; k + AT_ONCE <= count; k += AT_ONCE, high += 4 * AT_ONCE) {
        REAL2 some[AT_ONCE];
        UNROLL
        for (u32 j = 0; j < AT_ONCE; j++) some[j] = from[high_index(high, j)];
        UNROLL
        for (u32 j = 0; j < AT_ONCE; j++) parts[slot ^ high[4 * j + 2]] = some[j];
    }
    for (; k < count; k++, high += 4) parts[slot ^ high[2]] = from[high_index(high, 0)];
}

/* Writes a thread's part of a tile. */
DEVICE void scatter(const REAL2 *parts, REAL2 *to, const u32 *RESTRICT words, u32 stage, u32 slot, REAL2 scale) {
    const u32 *high = high_places(words, stage);
    const u32 count = (1u << words[stage]) / STAGE_THREADS;
    for (u32 k = 0; k < count; k++, high += 4) to[high_index(high, 0)] = times(scale, parts[slot ^ high[3]]);
}

/* The sums of inner products of the warps of a block, and of the whole block. */
#define WARPS ((STAGE_THREADS + 31u) >> 5)

DEVICE void clear_sums(double *sums, u32 looks, u32 t) {
    for (u32 k = t; k < WARPS * looks; k += STAGE_THREADS) sums[k] = 0;
}

DEVICE void give_sums(double *RESTRICT out, const double *sums, u32 looks, u32 t) {
    for (u32 k = t; k < looks; k += STAGE_THREADS) {
        double sum = 0;
        for (u32 warp = 0; warp < WARPS; warp++) sum += sums[warp * looks + k];
        out[(u64)BLOCK * looks + k] = sum;
    }
}

#ifdef KETGRAD_ONE_STAGE

/* One stage, written out by src/source.rs: a text follows this file,
 *
 *   ONE_STAGE(amplitudes)   or   ONE_STAGE_PAIR(amplitudes, groups of phases, inner products)
 *     what is done with a tile
 *   ONE_STAGE_END                ONE_STAGE_PAIR_END
 *
 * `words` and `numbers` are those of the program, where the stage's begin at `stage` and `first`; otherwise the
 * parameters and the shared memory are those of `stage` and `stage_pair`. */

#define FOR_SETS(sets) for (u32 c = t; c < (sets); c += STAGE_THREADS)

/* A matrix for set c. The shift gives 0, which the compiler does not know: or else it reads the matrices of all steps
 * before the loop, for which there are not enough registers. */
#define MATRIX_AT(number) ((const REAL2 *)(own + (c >> 24) + (number)))

#define ONE_STAGE(size)                                                                                   \
    KERNEL LAUNCH_BOUNDS(STAGE_THREADS, 3)                                                                \
    one_stage(REAL2 *RESTRICT on_psi, const u32 *RESTRICT words, const REAL *RESTRICT numbers, u32 stage, \
              u32 first, u32 tiles) {                                                                     \
        SHARED(REAL2, parts);                                                                             \
        const u32 *const tables = words + stage;                                                          \
        const REAL *const own = numbers + first;                                                          \
        REAL2 *const z = parts + (size);                                                                  \
        for (u32 tile = BLOCK; tile < tiles; tile += BLOCKS) {
#define ONE_STAGE_END \
        }             \
    }                 \
    EMULATE(one_stage, P(REAL2 *, 0), P(u32 *, 1), P(REAL *, 2), P(u32, 3), P(u32, 4), P(u32, 5))

#define ONE_STAGE_PAIR(size, groups, count)                                                        \
    KERNEL LAUNCH_BOUNDS(STAGE_THREADS, 2)                                                         \
    one_stage(REAL2 *RESTRICT on_psi, REAL2 *RESTRICT on_lambda, const u32 *RESTRICT words,        \
              const REAL *RESTRICT numbers, u32 stage, u32 first, u32 tiles, double *RESTRICT out) { \
        SHARED(REAL2, parts);                                                                      \
        const u32 *const tables = words + stage;                                                   \
        const REAL *const own = numbers + first;                                                   \
        REAL2 *const others = parts + (size), *const z = others + (size);                          \
        const u32 looks = (count);                                                                 \
        double *const sums = (double *)(z + (((groups) + 1u) & ~1u));                              \
        FOR_THREADS(t) { clear_sums(sums, looks, t); }                                             \
        SYNC();                                                                                    \
        for (u32 tile = BLOCK; tile < tiles; tile += BLOCKS) {
#define ONE_STAGE_PAIR_END                                   \
        }                                                    \
        FOR_THREADS(t) { give_sums(out, sums, looks, t); }   \
    }                                                        \
    EMULATE(one_stage, P(REAL2 *, 0), P(REAL2 *, 1), P(u32 *, 2), P(REAL *, 3), P(u32, 4), P(u32, 5), P(u32, 6), \
            P(double *, 7))

#else

/* Shared memory: the tile, then the factors of the groups. */
KERNEL LAUNCH_BOUNDS(STAGE_THREADS, 3)
stage(REAL2 *RESTRICT state, const u32 *RESTRICT words, const REAL *RESTRICT numbers, u32 stage, u32 tiles) {
    SHARED(REAL2, parts);
    const u32 bits = words[stage], size = 1u << bits, steps = words[stage + 1];
    const u32 *const groups = words + words[stage + 4];
    REAL2 *const z = parts + size;
    for (u32 tile = BLOCK; tile < tiles; tile += BLOCKS) {
        const u64 start = tile_start(words, stage, tile);
        FOR_THREADS(t) {
            const REAL2 *const from = state + start + place_start(words, stage, t);
            gather(parts, from, words, stage, t);
            tile_phases(z, words, numbers, stage, tile, t);
        }
        SYNC();
        const u32 *step = words + words[stage + 2];
        for (u32 s = 0; s < steps; s++, step += step[0]) {
            FOR_THREADS(t) {
                const u32 *const table = words + step[1], *const vectors = step + 2;
                const int matrix = step[2 + ROWS] == MATRIX;
                if (matrix) matrix_step(parts, words, step, numbers, size, t);
                for (u32 c = t; !matrix && c < size >> ROWS; c += STAGE_THREADS) {
                    const u32 b = table[c] & 0xffffu, slot = table[c] >> 16, *w = step + 2 + ROWS;
                    REAL2 psi[LOCALS];
                    load(psi, parts, slot, vectors);
                    REAL2 *const lambda = psi;
                    double *const sums = 0;
                    const u32 looks = 0;
                    ACTIONS(0)
                    (void)sums, (void)looks, (void)lambda;
                    store(psi, parts, slot, vectors);
                }
            }
            SYNC();
        }
        FOR_THREADS(t) {
            REAL2 *const to = state + start + place_start(words, stage, t);
            const REAL2 scale = tile_scale(z, words, numbers, stage);
            const u32 slot = exit_slot(words, stage, tile, t);
            scatter(parts, to, words, stage, slot, scale);
        }
        SYNC();
    }
}

/* Two states through one stage, with the inner products im <lambda|P|psi> on the way: `looks` sums for each block.
 * Shared memory: both tiles, the factors, and the sums of each warp. */
KERNEL LAUNCH_BOUNDS(STAGE_THREADS, 2)
stage_pair(REAL2 *RESTRICT on_psi, REAL2 *RESTRICT on_lambda, const u32 *RESTRICT words, const REAL *RESTRICT numbers,
           u32 stage, u32 tiles, double *RESTRICT out) {
    SHARED(REAL2, parts);
    const u32 bits = words[stage], size = 1u << bits, steps = words[stage + 1], looks = words[stage + 18];
    const u32 *const groups = words + words[stage + 4];
    REAL2 *const others = parts + size, *const z = others + size;
    double *const sums = (double *)(z + words[stage + 3] + (words[stage + 3] & 1u));
    FOR_THREADS(t) { clear_sums(sums, looks, t); }
    SYNC();
    for (u32 tile = BLOCK; tile < tiles; tile += BLOCKS) {
        const u64 start = tile_start(words, stage, tile);
        FOR_THREADS(t) {
            const u64 first = start + place_start(words, stage, t);
            gather(parts, on_psi + first, words, stage, t);
            gather(others, on_lambda + first, words, stage, t);
            tile_phases(z, words, numbers, stage, tile, t);
        }
        SYNC();
        const u32 *step = words + words[stage + 2];
        for (u32 s = 0; s < steps; s++, step += step[0]) {
            FOR_THREADS(t) {
                const u32 *const table = words + step[1], *const vectors = step + 2;
                const int matrix = step[2 + ROWS] == MATRIX;
                if (matrix) {
                    matrix_step(parts, words, step, numbers, size, t);
                    matrix_step(others, words, step, numbers, size, t);
                }
                for (u32 c = t; !matrix && c < size >> ROWS; c += STAGE_THREADS) {
                    const u32 b = table[c] & 0xffffu, slot = table[c] >> 16, *w = step + 2 + ROWS;
                    REAL2 psi[LOCALS], lambda[LOCALS];
                    load(psi, parts, slot, vectors);
                    load(lambda, others, slot, vectors);
                    ACTIONS(1)
                    store(psi, parts, slot, vectors);
                    store(lambda, others, slot, vectors);
                }
            }
            SYNC();
        }
        FOR_THREADS(t) {
            const u64 first = start + place_start(words, stage, t);
            const REAL2 scale = tile_scale(z, words, numbers, stage);
            const u32 slot = exit_slot(words, stage, tile, t);
            scatter(parts, on_psi + first, words, stage, slot, scale);
            scatter(others, on_lambda + first, words, stage, slot, scale);
        }
        SYNC();
    }
    FOR_THREADS(t) { give_sums(out, sums, looks, t); }
}

/* ---- Single operators ---------------------------------------------------------------------------------------------
 *
 * An operator changes the amplitudes base + offset, where base runs over the indices whose fixed bits (controls and
 * targets) have given values.
 *
 *   operator words: number of fixed bits, the bits ascending; value (2 words); offsets (2 words each)
 */

DEVICE u64 word2(const u32 *RESTRICT w) { return w[0] | (u64)w[1] << 32; }

/* Number i of the indices whose fixed bits have the value. */
DEVICE u64 base_of(u64 i, const u32 *RESTRICT w) {
    for (u32 f = 0; f < w[0]; f++) {
        const u64 low = ((u64)1 << w[1 + f]) - 1;
        i = (i & low) | (i & ~low) << 1;
    }
    return i | word2(w + 1 + w[0]);
}

#define GROUP ((u64)BLOCK * THREADS + t)

#define DENSE_OF(K)                                                                                            \
    KERNEL LAUNCH_BOUNDS(256, 1)                                                                               \
    dense##K(REAL2 *RESTRICT state, const u32 *RESTRICT words, const REAL *RESTRICT numbers, u32 at, u32 matrix, \
             u64 groups) {                                                                                     \
        const u32 *const w = words + at, *const offsets = w + 3 + w[0];                                        \
        const REAL2 *const m = (const REAL2 *)(numbers + matrix);                                              \
        FOR_THREADS(t) {                                                                                       \
            if (GROUP < groups) {                                                                              \
                REAL2 *const base = state + base_of(GROUP, w);                                                 \
                REAL2 in[1 << K];                                                                              \
                UNROLL for (u32 c = 0; c < 1u << K; c++) in[c] = base[word2(offsets + 2 * c)];                 \
                UNROLL_ROWS(K) for (u32 r = 0; r < 1u << K; r++) {                                             \
                    REAL2 sum = times(m[r << K], in[0]);                                                       \
                    UNROLL for (u32 c = 1; c < 1u << K; c++) sum = plus_times(sum, m[(r << K) + c], in[c]);    \
                    base[word2(offsets + 2 * r)] = sum;                                                        \
                }                                                                                              \
            }                                                                                                  \
        }                                                                                                      \
    }

#ifdef KETGRAD_EMULATE
#define UNROLL_ROWS(K)
#else
#define UNROLL_ROWS(K) _Pragma("unroll 4")
#endif

DENSE_OF(1)
DENSE_OF(2)
DENSE_OF(3)
DENSE_OF(4)
DENSE_OF(5)

/* Multiplies the amplitude at each of `count` offsets by its factor. */
KERNEL LAUNCH_BOUNDS(256, 1)
diagonal(REAL2 *RESTRICT state, const u32 *RESTRICT words, const REAL *RESTRICT numbers, u32 at, u32 factors, u32 count,
         u64 groups) {
    const u32 *const w = words + at, *const offsets = w + 3 + w[0];
    const REAL2 *const f = (const REAL2 *)(numbers + factors);
    FOR_THREADS(t) {
        if (GROUP < groups) {
            REAL2 *const base = state + base_of(GROUP, w);
            for (u32 k = 0; k < count; k++) {
                REAL2 *const a = base + word2(offsets + 2 * k);
                *a = times(*a, f[k]);
            }
        }
    }
}

/* Moves amplitudes along a cycle of offsets: each goes to the next and takes its factor with it, the last to the
 * first. */
KERNEL LAUNCH_BOUNDS(256, 1)
cycle(REAL2 *RESTRICT state, const u32 *RESTRICT words, const REAL *RESTRICT numbers, u32 at, u32 factors, u32 count,
      u64 groups) {
    const u32 *const w = words + at, *const offsets = w + 3 + w[0];
    const REAL2 *const f = (const REAL2 *)(numbers + factors);
    FOR_THREADS(t) {
        if (GROUP < groups) {
            REAL2 *const base = state + base_of(GROUP, w);
            const REAL2 last = base[word2(offsets + 2 * (count - 1))];
            for (u32 k = count - 1; k > 0; k--)
                base[word2(offsets + 2 * k)] = times(f[k - 1], base[word2(offsets + 2 * (k - 1))]);
            base[word2(offsets)] = times(f[count - 1], last);
        }
    }
}

/* ---- Values -------------------------------------------------------------------------------------------------------
 *
 * Sums are made in double precision and in an order that depends on the sizes of the launch alone. */

/* Adds the threads' pairs in `part` into the first one. THREADS is a power of two. */
#define ADD_UP(part)                                             \
    for (u32 half = THREADS >> 1; half; half >>= 1) {            \
        SYNC();                                                  \
        FOR_THREADS(t) {                                         \
            if (t < half) {                                      \
                part[2 * t] += part[2 * (t + half)];             \
                part[2 * t + 1] += part[2 * (t + half) + 1];     \
            }                                                    \
        }                                                        \
    }                                                            \
    SYNC();

/* Sums of Pauli strings, i^... X^x Z^z with a weight each. Strings of one x are a group; groups whose x span few dimensions
 * are a family, and all of them move amplitudes within tiles: `base ^ (span of vectors)` of runs of 2^low amplitudes. So a
 * family takes one pass. src/paulis/ writes
 *
 *   vectors  two words each, the highest bits ascending: the bits below the highest one, and the vector
 *   groups   x on the places of a tile; the first string with a real weight, the first with an imaginary one, the end
 *   strings  z on indices, z on places, the real or imaginary weight
 *
 * Bits of a place: those of the run, then one for each vector. */

/* Threads of a block, and places that a thread takes together: those bits of places that are TOGETHER's stand above the
 * thread's. */
#define PAULI_THREADS 256u
#define TOGETHER 8u

/* Blocks of a multiprocessor: its registers for as many. */
#define PAULI_BLOCKS (IS_DOUBLE ? 2 : 3)

/* Bit l of byte z is the parity of z & l. */
#define WALSH 0x963c5af066ccaa00ull

typedef struct {
    const u64 *vectors, *z;
    const u32 *groups, *z_on_places;
    const REAL *weights;
    u32 bits, low, count;
} Family;

#define FAMILY_OF(F)                                                                                          \
    Family F;                                                                                                 \
    F.vectors = vectors, F.z = z, F.groups = groups, F.z_on_places = z_on_places, F.weights = weights;        \
    F.bits = bits, F.low = low, F.count = count;

/* What the vectors of a place add to its index. */
DEVICE void vector_sums(u64 *sums, const Family f, u32 t) {
    for (u32 e = t; e >> (f.bits - f.low) == 0; e += PAULI_THREADS) {
        u64 sum = 0;
        for (u32 d = 0; e >> d; d++) sum ^= e >> d & 1u ? f.vectors[2 * d + 1] : 0;
        sums[e] = sum;
    }
}

/* The index of a tile's first place. */
DEVICE u64 family_base(u32 tile, const Family f) {
    u64 base = (u64)tile << f.low;
    for (u32 d = 0; d < f.bits - f.low; d++) {
        const u64 below = f.vectors[2 * d];
        base = (base & below) | (base & ~below) << 1;
    }
    return base;
}

#define PLACE_INDEX(p) (base ^ sums[(p) >> f.low] ^ ((p) & ((1u << f.low) - 1)))

DEVICE void family_tile(REAL2 *places, const REAL2 *RESTRICT state, const u64 *sums, u64 base, const Family f, u32 t) {
    for (u32 first = t; first >> f.bits == 0; first += TOGETHER * PAULI_THREADS) {
        REAL2 some[TOGETHER];
        UNROLL for (u32 l = 0; l < TOGETHER; l++) {
            const u32 p = first + l * PAULI_THREADS;
            if (p >> f.bits == 0) some[l] = state[PLACE_INDEX(p)];
        }
        UNROLL for (u32 l = 0; l < TOGETHER; l++) {
            const u32 p = first + l * PAULI_THREADS;
            if (p >> f.bits == 0) places[p] = some[l];
        }
    }
}

/* x, or -x if bit `l` of the word is set. */
#ifdef KETGRAD_EMULATE
DEVICE REAL signed_by(REAL x, u32 word, u32 l) { return word >> l & 1u ? -x : x; }
#else
#define SIGN_OF(word, l) (int)(word << (31 - l) & 0x80000000u)
DEVICE double signed_by(double x, u32 word, u32 l) {
    return __hiloint2double(__double2hiint(x) ^ SIGN_OF(word, l), __double2loint(x));
}
DEVICE float signed_by(float x, u32 word, u32 l) { return __int_as_float(__float_as_int(x) ^ SIGN_OF(word, l)); }
#endif

/* The signs of string k at the places q ^ (l PAULI_THREADS), as bit l. */
DEVICE u32 string_signs(u32 k, u64 base, u32 q, const Family f) {
    const u32 on_places = f.z_on_places[k], even = (u32)(WALSH >> (on_places / PAULI_THREADS % TOGETHER * 8));
    return PARITY64(f.z[k] & base) ^ PARITY(on_places & q) ? ~even : even;
}

/* The sums of the weights of the strings first..end, of which there is one, at the places q ^ (l PAULI_THREADS). */
DEVICE void add_up_weights(REAL *sums, u32 first, u32 end, u64 base, u32 q, const Family f) {
    const u32 signs = string_signs(first, base, q, f);
    const REAL weight = f.weights[first];
    UNROLL for (u32 l = 0; l < TOGETHER; l++) sums[l] = signed_by(weight, signs, l);
    for (u32 k = first + 1; k < end; k++) {
        const u32 signs = string_signs(k, base, q, f);
        const REAL weight = f.weights[k];
        UNROLL for (u32 l = 0; l < TOGETHER; l++) sums[l] += signed_by(weight, signs, l);
    }
}

/* The place q ^ (l PAULI_THREADS) of a tile, or one within where the tile is smaller. */
#define PARTNER(q, l) places[((q) ^ (l) * PAULI_THREADS) & last]

/* The sum over a thread's places of the real parts of conj(own) other, or of the imaginary ones, with weights. In the
 * precision of the state: what is rounded here is below what the amplitudes are rounded by. */
DEVICE REAL family_part(const REAL2 *own, const REAL2 *places, const REAL *weights, u32 q, u32 last, int imaginary) {
    REAL sum = 0;
    UNROLL for (u32 l = 0; l < TOGETHER; l++) {
        const REAL2 p = own[l], r = PARTNER(q, l);
        const REAL part = imaginary ? FMA(-p.y, r.x, MUL(p.x, r.y)) : FMA(p.y, r.y, MUL(p.x, r.x));
        sum = FMA(weights[l], part, sum);
    }
    return sum;
}

/* Sums of conj(a[i]) (sum of a family's strings on b)[i], one complex number for each block; only the real parts if
 * nothing else is asked for. Shared memory: the tile, its sums of vectors, the sums of the threads. */
KERNEL LAUNCH_BOUNDS(PAULI_THREADS, PAULI_BLOCKS)
pauli_sum(const REAL2 *RESTRICT a, const REAL2 *RESTRICT b, u32 tiles, u32 bits, u32 low, const u64 *RESTRICT vectors,
          const u32 *RESTRICT groups, u32 count, const u64 *RESTRICT z, const u32 *RESTRICT z_on_places,
          const REAL *RESTRICT weights, u32 complex_sums, double *RESTRICT partial) {
    SHARED(REAL2, places);
    FAMILY_OF(f)
    const u32 last = (1u << bits) - 1;
    u64 *const sums = (u64 *)(places + last + 1);
    double *const part = (double *)(sums + (1u << (bits - low)));
    FOR_THREADS(t) {
        vector_sums(sums, f, t);
        part[2 * t] = 0, part[2 * t + 1] = 0;
    }
    SYNC();
    for (u32 tile = BLOCK; tile < tiles; tile += BLOCKS) {
        const u64 base = family_base(tile, f);
        FOR_THREADS(t) { family_tile(places, b, sums, base, f, t); }
        SYNC();
        FOR_THREADS(t) {
            double re = 0, im = 0;
            for (u32 first = t; first <= last; first += TOGETHER * PAULI_THREADS) {
                REAL2 own[TOGETHER];
                UNROLL for (u32 l = 0; l < TOGETHER; l++) {
                    const u32 p = first + l * PAULI_THREADS;
                    own[l].x = 0, own[l].y = 0;
                    if (p <= last) own[l] = a[PLACE_INDEX(p)];
                }
                for (u32 g = 0; g < count; g++) {
                    const u32 *const group = groups + 4 * g, q = first ^ group[0];
                    REAL of[TOGETHER];
                    if (group[1] < group[2]) {
                        add_up_weights(of, group[1], group[2], base, q, f);
                        re += family_part(own, places, of, q, last, 0);
                        if (complex_sums) im += family_part(own, places, of, q, last, 1);
                    }
                    if (group[2] < group[3]) {
                        add_up_weights(of, group[2], group[3], base, q, f);
                        re -= family_part(own, places, of, q, last, 1);
                        if (complex_sums) im += family_part(own, places, of, q, last, 0);
                    }
                }
            }
            part[2 * t] += re, part[2 * t + 1] += im;
        }
        SYNC();
    }
    ADD_UP(part)
    FOR_THREADS(t) {
        if (t < 2) partial[2 * (u64)BLOCK + t] = part[t];
    }
}

/* to = sum of a family's strings on `from`, or to + that. Shared memory: the tile and its sums of vectors. */
KERNEL LAUNCH_BOUNDS(PAULI_THREADS, PAULI_BLOCKS)
pauli_apply(const REAL2 *RESTRICT from, REAL2 *RESTRICT to, u32 tiles, u32 bits, u32 low, const u64 *RESTRICT vectors,
            const u32 *RESTRICT groups, u32 count, const u64 *RESTRICT z, const u32 *RESTRICT z_on_places,
            const REAL *RESTRICT weights, u32 adds) {
    SHARED(REAL2, places);
    FAMILY_OF(f)
    const u32 last = (1u << bits) - 1;
    u64 *const sums = (u64 *)(places + last + 1);
    FOR_THREADS(t) { vector_sums(sums, f, t); }
    SYNC();
    for (u32 tile = BLOCK; tile < tiles; tile += BLOCKS) {
        const u64 base = family_base(tile, f);
        FOR_THREADS(t) { family_tile(places, from, sums, base, f, t); }
        SYNC();
        FOR_THREADS(t) {
            for (u32 first = t; first <= last; first += TOGETHER * PAULI_THREADS) {
                REAL2 sum[TOGETHER];
                UNROLL for (u32 l = 0; l < TOGETHER; l++) {
                    const u32 p = first + l * PAULI_THREADS;
                    sum[l].x = 0, sum[l].y = 0;
                    if (adds && p <= last) sum[l] = to[PLACE_INDEX(p)];
                }
                for (u32 g = 0; g < count; g++) {
                    const u32 *const group = groups + 4 * g, q = first ^ group[0];
                    REAL of[TOGETHER];
                    if (group[1] < group[2]) {
                        add_up_weights(of, group[1], group[2], base, q, f);
                        UNROLL for (u32 l = 0; l < TOGETHER; l++) {
                            const REAL2 r = PARTNER(q, l);
                            sum[l].x = FMA(of[l], r.x, sum[l].x);
                            sum[l].y = FMA(of[l], r.y, sum[l].y);
                        }
                    }
                    if (group[2] < group[3]) {
                        add_up_weights(of, group[2], group[3], base, q, f);
                        UNROLL for (u32 l = 0; l < TOGETHER; l++) {
                            const REAL2 r = PARTNER(q, l);
                            sum[l].x = FMA(-of[l], r.y, sum[l].x);
                            sum[l].y = FMA(of[l], r.x, sum[l].y);
                        }
                    }
                }
                UNROLL for (u32 l = 0; l < TOGETHER; l++) {
                    const u32 p = first + l * PAULI_THREADS;
                    if (p <= last) to[PLACE_INDEX(p)] = sum[l];
                }
            }
        }
        SYNC();
    }
}

/* sums[c] = sum of |a|^2 over the 2^chunk_log2 amplitudes of chunk c */
KERNEL LAUNCH_BOUNDS(256, 1)
norms(const REAL2 *RESTRICT a, u64 count, u32 chunk_log2, double *RESTRICT sums) {
    SHARED(double, part);
    for (u64 c = BLOCK; c < count >> chunk_log2; c += BLOCKS) {
        FOR_THREADS(t) {
            double sum = 0;
            for (u64 i = t; i >> chunk_log2 == 0; i += THREADS) {
                const REAL2 v = a[(c << chunk_log2) + i];
                sum += (double)v.x * v.x + (double)v.y * v.y;
            }
            part[2 * t] = sum;
            part[2 * t + 1] = 0;
        }
        ADD_UP(part)
        FOR_THREADS(t) {
            if (t == 0) sums[c] = part[0];
        }
        SYNC();
    }
}

/* For the shots first[c]..first[c + 1] of chunk[c]: the first index there at which the sum of |a|^2 from the chunk's
 * start exceeds the shot's residual; the last one that is not zero if rounding leaves none. Each thread sums a run of
 * the chunk, then looks for some of the shots. */
KERNEL LAUNCH_BOUNDS(256, 1)
pick(const REAL2 *RESTRICT a, u32 chunk_log2, const u64 *RESTRICT chunk, const u32 *RESTRICT first, u32 chunks,
     const double *RESTRICT residual, u64 *RESTRICT indices) {
    SHARED(double, part);
    const u32 size = 1u << chunk_log2, runs = size < THREADS ? size : THREADS, length = size / runs;
    for (u32 c = BLOCK; c < chunks; c += BLOCKS) {
        const u64 start = chunk[c] << chunk_log2;
        FOR_THREADS(t) {
            double sum = 0;
            if (t < runs) {
                for (u32 i = 0; i < length; i++) {
                    const REAL2 v = a[start + t * length + i];
                    sum += (double)v.x * v.x + (double)v.y * v.y;
                }
            }
            part[t] = sum;
        }
        SYNC();
        FOR_THREADS(t) {
            for (u32 shot = first[c] + t; shot < first[c + 1]; shot += THREADS) {
                double before = 0;
                u32 run = 0;
                while (run + 1 < runs && before + part[run] <= residual[shot]) before += part[run++];
                u64 found = start, last = start;
                u32 done = 0;
                for (u32 i = run * length; i < size && !done; i++) {
                    const REAL2 v = a[start + i];
                    const double p = (double)v.x * v.x + (double)v.y * v.y;
                    before += p;
                    if (p > 0) last = start + i;
                    if (before > residual[shot]) found = start + i, done = 1;
                }
                for (u32 i = run * length; !done && last == start && i > 0; i--) {
                    const REAL2 v = a[start + i - 1];
                    if (v.x != 0 || v.y != 0) last = start + i - 1, done = 1;
                }
                indices[shot] = before > residual[shot] ? found : last;
            }
        }
        SYNC();
    }
}

#ifdef KETGRAD_EMULATE

EMULATE(stage, P(REAL2 *, 0), P(u32 *, 1), P(REAL *, 2), P(u32, 3), P(u32, 4))
EMULATE(stage_pair, P(REAL2 *, 0), P(REAL2 *, 1), P(u32 *, 2), P(REAL *, 3), P(u32, 4), P(u32, 5), P(double *, 6))
#define EMULATE_DENSE(K) EMULATE(dense##K, P(REAL2 *, 0), P(u32 *, 1), P(REAL *, 2), P(u32, 3), P(u32, 4), P(u64, 5))
EMULATE_DENSE(1)
EMULATE_DENSE(2)
EMULATE_DENSE(3)
EMULATE_DENSE(4)
EMULATE_DENSE(5)
EMULATE(diagonal, P(REAL2 *, 0), P(u32 *, 1), P(REAL *, 2), P(u32, 3), P(u32, 4), P(u32, 5), P(u64, 6))
EMULATE(cycle, P(REAL2 *, 0), P(u32 *, 1), P(REAL *, 2), P(u32, 3), P(u32, 4), P(u32, 5), P(u64, 6))
#define PAULI P(u32, 2), P(u32, 3), P(u32, 4), P(u64 *, 5), P(u32 *, 6), P(u32, 7), P(u64 *, 8), P(u32 *, 9), P(REAL *, 10)
EMULATE(pauli_sum, P(REAL2 *, 0), P(REAL2 *, 1), PAULI, P(u32, 11), P(double *, 12))
EMULATE(pauli_apply, P(REAL2 *, 0), P(REAL2 *, 1), PAULI, P(u32, 11))
EMULATE(norms, P(REAL2 *, 0), P(u64, 1), P(u32, 2), P(double *, 3))
EMULATE(pick, P(REAL2 *, 0), P(u32, 1), P(u64 *, 2), P(u32 *, 3), P(u32, 4), P(double *, 5), P(u64 *, 6))

#endif
#endif
