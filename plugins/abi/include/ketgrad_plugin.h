/* The C interface between ketgrad and its plugins. The crate `ketgrad-plugin-abi` says the same in Rust, and its
 * documentation explains every field. A plugin exports one object:
 *
 *     const ketgrad_desc ketgrad_plugin = { KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR,
 *         sizeof(ketgrad_desc), 0, 0, KETGRAD_STR("mine"), KETGRAD_STR("1.0"), KETGRAD_STR(""), init };
 *
 * Rules of the border: codes, not enums; nothing is freed on the other side; nothing unwinds across; what a
 * plugin adds is called from any thread. A missing function is null. Structs only grow at their end. */
#ifndef KETGRAD_PLUGIN_H
#define KETGRAD_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETGRAD_MAGIC 0x314441524754454bull /* "KETGRAD1" */
#define KETGRAD_MAJOR 1u
#define KETGRAD_MINOR 3u

#if defined(_WIN32)
#define KETGRAD_EXPORT __declspec(dllexport)
#else
#define KETGRAD_EXPORT __attribute__((visibility("default")))
#endif

typedef int32_t ketgrad_status;
#define KETGRAD_OK 0
#define KETGRAD_ERROR 1
#define KETGRAD_PANIC 2
#define KETGRAD_UNSUPPORTED 3
#define KETGRAD_INVALID 4
#define KETGRAD_NO_HARDWARE 5

/* Kinds of numbers; bit 1 << k of a mask stands for kind k. */
#define KETGRAD_F64 1u
#define KETGRAD_C64 2u
#define KETGRAD_C32 3u /* of states alone, since 1.2; the matrices of gates stay KETGRAD_C64 */

/* Memory kinds, as in DLPack. */
#define KETGRAD_MEM_HOST 1u
#define KETGRAD_MEM_CUDA 2u
#define KETGRAD_MEM_OPAQUE 12u

#define KETGRAD_MAX_NDIM 8

#define KETGRAD_LOG_ERROR 1u
#define KETGRAD_LOG_WARN 2u
#define KETGRAD_LOG_INFO 3u

#define KETGRAD_GATE_DENSE 0u    /* 2^t x 2^t entries, row by row */
#define KETGRAD_GATE_DIAGONAL 1u /* 2^t entries */

/* UTF-8, not terminated. */
typedef struct ketgrad_str {
    const char *ptr;
    size_t len;
} ketgrad_str;
#define KETGRAD_STR(literal) { (literal), sizeof(literal) - 1 }

/* A buffer of the caller for a message. */
typedef struct ketgrad_err {
    uint32_t struct_size, reserved;
    char *buf;
    size_t cap, len;
} ketgrad_err;

/* A dense array; strides in elements, null: row-major without gaps. */
typedef struct ketgrad_array {
    uint32_t dtype, ndim;
    const uint64_t *shape;
    const int64_t *strides;
    void *data;
    uint32_t mem;
    int32_t device;
} ketgrad_array;

typedef struct ketgrad_shape {
    uint32_t ndim, reserved;
    uint64_t dim[KETGRAD_MAX_NDIM];
} ketgrad_shape;

/* A function with derivatives: a kernel, a program, or both. `infer`, `forward` and `pullback` have `n_in` inputs and `n_out` results;
 * several results (since 1.3) are a tuple in programs. A result that is an array has 1 to KETGRAD_MAX_NDIM dimensions, whatever those
 * of the inputs. Ints cross as doubles, in a rule whose other numbers are all complex as complex ones. To `pullback` the cotangent
 * of u + iv is dL/du + i dL/dv of a real loss L. */
typedef struct ketgrad_rule {
    uint32_t struct_size, flags;
    ketgrad_str name;
    uint32_t n_in, n_out;
    uint32_t dtypes, reserved; /* KETGRAD_F64, KETGRAD_C64 or, since 1.3, both, as bits */
    ketgrad_str signature; /* "(x, n: int) -> real", "(zs: array<complex>) -> (real, array)"; empty: numbers */
    ketgrad_str program;   /* "rule f(x) { kernel(x) } pullback(x, y, y_bar) { ... }" */
    void *user;
    ketgrad_status (*infer)(void *user, const ketgrad_array *x, ketgrad_shape *y, ketgrad_err *err);
    ketgrad_status (*forward)(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape,
                              ketgrad_err *err);
    ketgrad_status (*pullback)(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                               const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err);
    ketgrad_status (*scalar_f64)(void *user, const double *x, double *y, ketgrad_err *err);
    ketgrad_status (*scalar_c64)(void *user, const double *x, double *y, ketgrad_err *err);
    void (*free_tape)(void *user, void *tape);
    void (*drop_user)(void *user);
} ketgrad_rule;

/* One operator: it acts where (index & control_mask) == control_value; targets[0] is the least bit of a row. */
typedef struct ketgrad_gate {
    uint32_t kind, n_targets;
    const uint32_t *targets;
    uint64_t control_mask, control_value;
    const double *matrix; /* real and imaginary parts in turn */
} ketgrad_gate;

/* Step by `stride` bytes, not by sizeof(ketgrad_gate). */
typedef struct ketgrad_gate_list {
    const ketgrad_gate *ptr;
    size_t len, stride;
} ketgrad_gate_list;

typedef struct ketgrad_query {
    uint32_t struct_size, dtype, n_qubits, threads;
    uint64_t n_gates;
} ketgrad_query;

/* coefficient times the Pauli string with X or Y where x has a bit, Z or Y where z has one. */
typedef struct ketgrad_pauli_term {
    double coefficient;
    uint64_t x, z;
} ketgrad_pauli_term;

/* im <lambda|P|psi> with P = i^|x & z| X^x Z^z, taken before operator number `before`; since 1.2. */
typedef struct ketgrad_inner {
    uint64_t before, x, z;
} ketgrad_inner;

typedef struct ketgrad_host ketgrad_host;

/* Kernels for states: apply_host, or state_new, state_free, upload, download and apply. States stay on a device that also
 * has state_basis, state_copy, expectation, inner, apply_paulis, apply_pair and sample. One call at a time has a state. */
typedef struct ketgrad_backend {
    uint32_t struct_size, flags;
    ketgrad_str name;
    uint32_t mem, dtypes, max_qubits, max_matrix_targets;
    uint32_t gates, reserved; /* bit 1 << kind: what it takes besides dense operators */
    void *user;
    int32_t (*score)(void *user, const ketgrad_query *query); /* 100: as the built-in kernels; 0: cannot; below 0: it failed, `describe` says why */
    ketgrad_status (*apply_host)(void *user, const ketgrad_host *host, uint32_t dtype, void *amplitudes,
                                 uint32_t n_qubits, const ketgrad_gate_list *gates, ketgrad_err *err);
    ketgrad_status (*state_new)(void *user, uint32_t dtype, uint32_t n_qubits, void **state, ketgrad_err *err);
    void (*state_free)(void *user, void *state);
    ketgrad_status (*state_copy)(void *user, void *from, void **copy, ketgrad_err *err);
    ketgrad_status (*upload)(void *user, void *state, const void *amplitudes, size_t bytes, ketgrad_err *err);
    ketgrad_status (*download)(void *user, void *state, void *amplitudes, size_t bytes, ketgrad_err *err);
    ketgrad_status (*sync)(void *user, void *state, ketgrad_err *err);
    ketgrad_status (*apply)(void *user, void *state, const ketgrad_gate_list *gates, ketgrad_err *err);
    ketgrad_status (*expectation)(void *user, void *state, const ketgrad_pauli_term *terms, size_t count,
                                  double *value, ketgrad_err *err);
    ketgrad_status (*inner)(void *user, void *a, void *b, double *value, ketgrad_err *err);
    ketgrad_status (*inner_paulis)(void *user, void *a, const ketgrad_pauli_term *terms, size_t count, void *b,
                                   double *value, ketgrad_err *err);
    ketgrad_status (*apply_paulis)(void *user, const ketgrad_pauli_term *terms, size_t count, void *from,
                                   void *to, ketgrad_err *err);
    void (*drop_user)(void *user);
    /* Since 1.2. */
    ketgrad_status (*describe)(void *user, ketgrad_err *text); /* ketgrad_fail(text, KETGRAD_OK, "...") */
    ketgrad_status (*state_basis)(void *user, void *state, uint64_t index, ketgrad_err *err);
    ketgrad_status (*apply_pair)(void *user, void *psi, void *lambda, const ketgrad_gate_list *gates,
                                 const ketgrad_inner *inners, size_t count, double *values, ketgrad_err *err);
    ketgrad_status (*sample)(void *user, void *state, const double *uniforms, size_t count, uint64_t *indices,
                             ketgrad_err *err); /* uniforms ascend */
} ketgrad_backend;

typedef ketgrad_status (*ketgrad_body)(void *user, size_t from, size_t to);

struct ketgrad_host {
    uint32_t struct_size, major, minor, threads;
    void *ctx;
    void (*log)(void *ctx, uint32_t level, ketgrad_str text);
    ketgrad_status (*option)(void *ctx, ketgrad_str key, ketgrad_str *value);
    ketgrad_status (*add_rule)(void *ctx, const ketgrad_rule *rule, ketgrad_err *err);
    ketgrad_status (*add_backend)(void *ctx, const ketgrad_backend *backend, ketgrad_err *err);
    ketgrad_status (*parallel_for)(void *ctx, size_t count, size_t grain, ketgrad_body body, void *user);
    const void *(*get_extension)(void *ctx, ketgrad_str id); /* since 1.1 */
};

/* The first 32 bytes are the same in every version. */
typedef struct ketgrad_desc {
    uint64_t magic;
    uint32_t abi_major, abi_minor;
    uint32_t struct_size, min_host_minor;
    uint64_t reserved;
    ketgrad_str name, version, build;
    ketgrad_status (*init)(const ketgrad_host *host, ketgrad_err *err);
} ketgrad_desc;

extern KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin;

/* Puts a message into the caller's buffer and gives back the status: `return ketgrad_fail(err, KETGRAD_ERROR, "...")`. */
static inline ketgrad_status ketgrad_fail(ketgrad_err *err, ketgrad_status status, const char *message) {
    if (err && err->buf) {
        size_t n = 0;
        while (message[n] && n < err->cap) {
            err->buf[n] = message[n];
            n++;
        }
        err->len = n;
    }
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
