/* A device that is none: a backend with memory of its own, to test device backends on any machine.
 *
 * A state is two arrays, of the real and of the imaginary parts, so nothing of the host's layout is left and every
 * move is real. Numbers are `double` inside; a state in single precision is rounded after each gate. It takes dense
 * operators alone: the host must write everything else as a matrix.
 *
 * Build: cc -std=c11 -O2 -shared -fPIC -I<include> mockdevice.c -o libmockdevice.so
 * Options:
 *   fail = "apply"     operators fail, and the error comes out at the next wait, as on a real device
 *   fail = "conjugate" it takes every matrix for its complex conjugate; "single": in single precision only
 *   score = "0"        how well it says that it would do; 1 without the option
 *   since = "1.1"      it has nothing that is newer; "1.9": its table is longer than this host's
 *   room = "1"         number of states that fit at once
 *   moves = "forbidden"  amplitudes do not leave it: proves that only values do; "out": they leave it, and none come to
 *                      it: proves that states are made there */

#include "ketgrad_plugin.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TARGETS 6

typedef struct state {
    size_t n; /* amplitudes */
    uint32_t dtype;
    double *re, *im;
    int broken;
} state;

static int fail_apply, conjugates, conjugates_single, forbid_moves, forbid_uploads;
static int32_t own_score = 1;
static atomic_int states, room;

static int32_t score(void *user, const ketgrad_query *query) {
    (void)user;
    return query->dtype == KETGRAD_C64 || query->dtype == KETGRAD_C32 ? own_score : 0;
}

static ketgrad_status describe(void *user, ketgrad_err *text) {
    (void)user;
    return ketgrad_fail(text, KETGRAD_OK,
                        own_score > 0 ? "a device that is none, in the host's own memory"
                                      : "a device that is none and was told to decline");
}

static ketgrad_status state_new(void *user, uint32_t dtype, uint32_t n_qubits, void **out, ketgrad_err *err) {
    (void)user;
    if (dtype != KETGRAD_C64 && dtype != KETGRAD_C32)
        return ketgrad_fail(err, KETGRAD_UNSUPPORTED, "numbers of another kind");
    if (atomic_fetch_add(&states, 1) >= room && room > 0) {
        atomic_fetch_sub(&states, 1);
        return ketgrad_fail(err, KETGRAD_ERROR, "no room on the device for another state");
    }
    state *s = calloc(1, sizeof *s);
    if (!s) {
        atomic_fetch_sub(&states, 1);
        return ketgrad_fail(err, KETGRAD_ERROR, "no memory");
    }
    s->n = (size_t)1 << n_qubits;
    s->dtype = dtype;
    s->re = calloc(s->n, sizeof(double));
    s->im = calloc(s->n, sizeof(double));
    if (!s->re || !s->im) {
        free(s->re);
        free(s->im);
        free(s);
        atomic_fetch_sub(&states, 1);
        return ketgrad_fail(err, KETGRAD_ERROR, "no memory");
    }
    *out = s;
    return KETGRAD_OK;
}

static void state_free(void *user, void *p) {
    (void)user;
    state *s = p;
    free(s->re);
    free(s->im);
    free(s);
    atomic_fetch_sub(&states, 1);
}

static ketgrad_status state_copy(void *user, void *from, void **out, ketgrad_err *err) {
    state *s = from, *t;
    uint32_t n_qubits = 0;
    while (((size_t)1 << n_qubits) < s->n) n_qubits++;
    ketgrad_status status = state_new(user, s->dtype, n_qubits, out, err);
    if (status != KETGRAD_OK) return status;
    t = *out;
    t->broken = s->broken;
    memcpy(t->re, s->re, s->n * sizeof(double));
    memcpy(t->im, s->im, s->n * sizeof(double));
    return KETGRAD_OK;
}

static ketgrad_status state_basis(void *user, void *p, uint64_t index, ketgrad_err *err) {
    (void)user;
    state *s = p;
    if (index >= s->n) return ketgrad_fail(err, KETGRAD_INVALID, "no such basis state");
    memset(s->re, 0, s->n * sizeof(double));
    memset(s->im, 0, s->n * sizeof(double));
    s->re[index] = 1;
    return KETGRAD_OK;
}

static ketgrad_status movable(const state *s, size_t bytes, ketgrad_err *err) {
    size_t each = s->dtype == KETGRAD_C32 ? 2 * sizeof(float) : 2 * sizeof(double);
    if (forbid_moves) return ketgrad_fail(err, KETGRAD_UNSUPPORTED, "it was told that amplitudes stay");
    return bytes == s->n * each ? KETGRAD_OK : ketgrad_fail(err, KETGRAD_INVALID, "another number of bytes");
}

static ketgrad_status upload(void *user, void *p, const void *amplitudes, size_t bytes, ketgrad_err *err) {
    (void)user;
    state *s = p;
    if (forbid_uploads) return ketgrad_fail(err, KETGRAD_UNSUPPORTED, "it was told that no amplitudes come");
    ketgrad_status status = movable(s, bytes, err);
    if (status != KETGRAD_OK) return status;
    for (size_t i = 0; i < s->n; i++) {
        s->re[i] = s->dtype == KETGRAD_C32 ? ((const float *)amplitudes)[2 * i] : ((const double *)amplitudes)[2 * i];
        s->im[i] = s->dtype == KETGRAD_C32 ? ((const float *)amplitudes)[2 * i + 1]
                                           : ((const double *)amplitudes)[2 * i + 1];
    }
    return KETGRAD_OK;
}

static ketgrad_status download(void *user, void *p, void *amplitudes, size_t bytes, ketgrad_err *err) {
    (void)user;
    state *s = p;
    ketgrad_status status = movable(s, bytes, err);
    if (status != KETGRAD_OK) return status;
    for (size_t i = 0; i < s->n; i++) {
        if (s->dtype == KETGRAD_C32) {
            ((float *)amplitudes)[2 * i] = (float)s->re[i];
            ((float *)amplitudes)[2 * i + 1] = (float)s->im[i];
        } else {
            ((double *)amplitudes)[2 * i] = s->re[i];
            ((double *)amplitudes)[2 * i + 1] = s->im[i];
        }
    }
    return KETGRAD_OK;
}

static ketgrad_status sync(void *user, void *p, ketgrad_err *err) {
    (void)user;
    return ((state *)p)->broken ? ketgrad_fail(err, KETGRAD_ERROR, "the device was lost while it applied gates")
                                : KETGRAD_OK;
}

/* A number as the state holds it. */
static double held(const state *s, double x) { return s->dtype == KETGRAD_C32 ? (double)(float)x : x; }

static void dense(state *s, const ketgrad_gate *g) {
    size_t dim = (size_t)1 << g->n_targets, offset[1 << MAX_TARGETS], targets = 0;
    double re[1 << MAX_TARGETS], im[1 << MAX_TARGETS];
    for (uint32_t t = 0; t < g->n_targets; t++) targets |= (size_t)1 << g->targets[t];
    for (size_t row = 0; row < dim; row++) {
        offset[row] = 0;
        for (uint32_t t = 0; t < g->n_targets; t++)
            if (row >> t & 1) offset[row] |= (size_t)1 << g->targets[t];
    }
    for (size_t base = 0; base < s->n; base++) {
        if (base & targets || (base & g->control_mask) != g->control_value) continue;
        for (size_t row = 0; row < dim; row++) {
            re[row] = im[row] = 0;
            for (size_t column = 0; column < dim; column++) {
                const double *m = g->matrix + 2 * (row * dim + column);
                double x = s->re[base | offset[column]], y = s->im[base | offset[column]];
                double m_im = conjugates || (conjugates_single && s->dtype == KETGRAD_C32) ? -m[1] : m[1];
                re[row] += m[0] * x - m_im * y;
                im[row] += m[0] * y + m_im * x;
            }
        }
        for (size_t row = 0; row < dim; row++) {
            s->re[base | offset[row]] = held(s, re[row]);
            s->im[base | offset[row]] = held(s, im[row]);
        }
    }
}

/* The operators from one number up to another. */
static ketgrad_status apply_some(state *s, const ketgrad_gate_list *gates, size_t from, size_t to, ketgrad_err *err) {
    if (fail_apply) {
        s->broken = 1; /* comes out at the next wait */
        return KETGRAD_OK;
    }
    for (size_t k = from; k < to; k++) {
        const ketgrad_gate *g = (const ketgrad_gate *)((const char *)gates->ptr + k * gates->stride);
        if (g->kind != KETGRAD_GATE_DENSE || g->n_targets > MAX_TARGETS)
            return ketgrad_fail(err, KETGRAD_UNSUPPORTED, "an operator that it has not asked for");
        dense(s, g);
    }
    return KETGRAD_OK;
}

static ketgrad_status apply(void *user, void *p, const ketgrad_gate_list *gates, ketgrad_err *err) {
    (void)user;
    return apply_some(p, gates, 0, gates->len, err);
}

static int parity(uint64_t x) {
    int p = 0;
    while (x) {
        p ^= 1;
        x &= x - 1;
    }
    return p;
}

/* The amplitude i of P s, for P = i^|x & z| X^x Z^z. */
static void pauli(const state *s, const ketgrad_pauli_term *t, size_t i, double *re, double *im) {
    size_t j = i ^ t->x;
    double sign = parity(j & t->z) ? -1 : 1, x = sign * s->re[j], y = sign * s->im[j];
    int y_count = 0;
    for (uint64_t both = t->x & t->z; both; both &= both - 1) y_count++;
    switch (y_count & 3) {
    case 0: *re = x, *im = y; break;
    case 1: *re = -y, *im = x; break;
    case 2: *re = -x, *im = -y; break;
    default: *re = y, *im = -x; break;
    }
}

static ketgrad_status inner_paulis(void *user, void *a, const ketgrad_pauli_term *terms, size_t count, void *b,
                                   double *value, ketgrad_err *err) {
    (void)user, (void)err;
    const state *l = a, *r = b;
    value[0] = value[1] = 0;
    for (size_t k = 0; k < count; k++) {
        double re = 0, im = 0, x, y;
        for (size_t i = 0; i < l->n; i++) {
            pauli(r, &terms[k], i, &x, &y);
            re += l->re[i] * x + l->im[i] * y;
            im += l->re[i] * y - l->im[i] * x;
        }
        value[0] += terms[k].coefficient * re;
        value[1] += terms[k].coefficient * im;
    }
    return KETGRAD_OK;
}

static ketgrad_status inner(void *user, void *a, void *b, double *value, ketgrad_err *err) {
    ketgrad_pauli_term one = {1, 0, 0};
    return inner_paulis(user, a, &one, 1, b, value, err);
}

static ketgrad_status expectation(void *user, void *p, const ketgrad_pauli_term *terms, size_t count, double *value,
                                  ketgrad_err *err) {
    double both[2];
    ketgrad_status status = inner_paulis(user, p, terms, count, p, both, err);
    *value = both[0];
    return status;
}

static ketgrad_status apply_paulis(void *user, const ketgrad_pauli_term *terms, size_t count, void *from, void *to,
                                   ketgrad_err *err) {
    (void)user, (void)err;
    const state *s = from;
    state *t = to;
    double x, y;
    t->broken = s->broken;
    for (size_t i = 0; i < s->n; i++) {
        double re = 0, im = 0;
        for (size_t k = 0; k < count; k++) {
            pauli(s, &terms[k], i, &x, &y);
            re += terms[k].coefficient * x;
            im += terms[k].coefficient * y;
        }
        t->re[i] = held(t, re);
        t->im[i] = held(t, im);
    }
    return KETGRAD_OK;
}

static ketgrad_status apply_pair(void *user, void *psi, void *lambda, const ketgrad_gate_list *gates,
                                 const ketgrad_inner *inners, size_t count, double *values, ketgrad_err *err) {
    size_t done = 0;
    for (size_t k = 0; k <= count; k++) {
        size_t upto = k < count && inners[k].before < gates->len ? (size_t)inners[k].before : gates->len;
        if (upto > done) {
            ketgrad_status status = apply_some(psi, gates, done, upto, err);
            if (status == KETGRAD_OK) status = apply_some(lambda, gates, done, upto, err);
            if (status != KETGRAD_OK) return status;
            done = upto;
        }
        if (k < count) {
            ketgrad_pauli_term term = {1, inners[k].x, inners[k].z};
            double both[2];
            inner_paulis(user, lambda, &term, 1, psi, both, err);
            values[k] = both[1];
        }
    }
    return KETGRAD_OK;
}

static ketgrad_status sample(void *user, void *p, const double *uniforms, size_t count, uint64_t *indices,
                             ketgrad_err *err) {
    (void)user;
    const state *s = p;
    double total = 0, sum = 0;
    size_t last = 0, k = 0;
    for (size_t i = 0; i < s->n; i++) {
        double weight = s->re[i] * s->re[i] + s->im[i] * s->im[i];
        total += weight;
        if (weight > 0) last = i;
    }
    if (!(total > 0 && total < 1e300)) return ketgrad_fail(err, KETGRAD_ERROR, "probabilities that add up to nothing");
    for (size_t i = 0; i < s->n && k < count; i++) {
        sum += s->re[i] * s->re[i] + s->im[i] * s->im[i];
        while (k < count && sum > uniforms[k] * total) indices[k++] = i;
    }
    while (k < count) indices[k++] = last;
    return KETGRAD_OK;
}

static int is(const ketgrad_host *host, ketgrad_str key, const char *expected) {
    ketgrad_str value;
    return host->option(host->ctx, key, &value) == KETGRAD_OK && value.len == strlen(expected) &&
           memcmp(value.ptr, expected, value.len) == 0;
}

static int number(const ketgrad_host *host, ketgrad_str key, int otherwise) {
    ketgrad_str text;
    char digits[8] = {0};
    if (host->option(host->ctx, key, &text) != KETGRAD_OK || text.len >= sizeof digits) return otherwise;
    memcpy(digits, text.ptr, text.len);
    return atoi(digits);
}

static ketgrad_status init(const ketgrad_host *host, ketgrad_err *err) {
    ketgrad_str fail = KETGRAD_STR("fail"), score_key = KETGRAD_STR("score"), since = KETGRAD_STR("since"),
                room_key = KETGRAD_STR("room"), moves = KETGRAD_STR("moves");
    fail_apply = is(host, fail, "apply");
    conjugates = is(host, fail, "conjugate");
    conjugates_single = is(host, fail, "single");
    own_score = number(host, score_key, 1);
    room = number(host, room_key, 0);
    forbid_moves = is(host, moves, "forbidden");
    forbid_uploads = is(host, moves, "out");
    int is_old = is(host, since, "1.1");
    struct {
        ketgrad_backend now;
        uint64_t later[5];
    } newer = {.later = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull}};
    newer.now = (ketgrad_backend){
        .struct_size = is_old                     ? offsetof(ketgrad_backend, describe)
                       : is(host, since, "1.9") ? sizeof newer
                                                  : sizeof newer.now,
        .name = KETGRAD_STR("mock"),
        .mem = KETGRAD_MEM_OPAQUE,
        .dtypes = is_old ? 1u << KETGRAD_C64 : 1u << KETGRAD_C64 | 1u << KETGRAD_C32,
        .max_qubits = 24,
        .max_matrix_targets = MAX_TARGETS,
        .score = score,
        .state_new = state_new,
        .state_free = state_free,
        .state_copy = state_copy,
        .upload = upload,
        .download = download,
        .sync = sync,
        .apply = apply,
        .expectation = expectation,
        .inner = inner,
        .inner_paulis = inner_paulis,
        .apply_paulis = apply_paulis,
        .describe = describe,
        .state_basis = state_basis,
        .apply_pair = apply_pair,
        .sample = sample,
    };
    return host->add_backend(host->ctx, &newer.now, err);
}

KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {
    KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR, sizeof(ketgrad_desc), 0, 0,
    KETGRAD_STR("mockdevice"), KETGRAD_STR("1.1"), KETGRAD_STR("C"), init,
};
