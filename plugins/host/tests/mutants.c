/* Rules and gate kernels that compute as they should, but for one thing that the option `mutant` names. */

#include "ketgrad_plugin.h"

#include <stdlib.h>
#include <string.h>

/* Each registration has its own, since a library's variables are shared by all. */
typedef struct own {
    char mutant[32];
    int calls;
} own;

static int is(const void *user, const char *mutant) { return strcmp(((const own *)user)->mutant, mutant) == 0; }

static void drop(void *user) { free(user); }

/* ---- rules ---- */

static ketgrad_status square(void *user, const double *x, double *y, ketgrad_err *err) {
    (void)err;
    own *o = user;
    o->calls++;
    *y = x[0] * x[0];
    if (is(o, "square_counts")) *y += 1e-12 * o->calls;
    if (is(o, "square_drifts") && o->calls % 2 == 0) *y *= 1 + 1e-15;
    return KETGRAD_OK;
}

static ketgrad_status as_first(void *user, const ketgrad_array *x, ketgrad_shape *y, ketgrad_err *err) {
    (void)user;
    if (x[0].ndim != 1) return ketgrad_fail(err, KETGRAD_INVALID, "expected a vector");
    y->ndim = 1;
    y->dim[0] = x[0].shape[0];
    return KETGRAD_OK;
}

static ketgrad_status one(void *user, const ketgrad_array *x, ketgrad_shape *y, ketgrad_err *err) {
    (void)user;
    if (x[0].ndim != 1 || x[1].ndim != 1 || x[0].shape[0] != x[1].shape[0])
        return ketgrad_fail(err, KETGRAD_INVALID, "expected two vectors of one length");
    y->ndim = 0;
    return KETGRAD_OK;
}

static ketgrad_status scan(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape, ketgrad_err *err) {
    (void)user, (void)tape, (void)err;
    double sum = 0;
    for (size_t i = 0; i < x->shape[0]; i++) ((double *)y->data)[i] = sum += ((const double *)x->data)[i];
    return KETGRAD_OK;
}

static ketgrad_status scan_back(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                                const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err) {
    (void)tape, (void)y, (void)err;
    own *o = user;
    const double *b = y_bar->data;
    double *out = x_bar->data, sum = 0;
    size_t n = x->shape[0];
    for (size_t k = 0; k < n; k++) {
        size_t i = is(o, "scan_forward") ? k : n - 1 - k;
        out[i] = sum += b[i];
    }
    if (is(o, "scan_last") && n > 1) out[n - 1] = 0;
    if (is(o, "scan_one") && n == 1) out[0] = 2 * b[0];
    if (is(o, "scan_long") && n > 4) out[4] = 0;
    o->calls++;
    if (is(o, "scan_drifts")) out[0] *= 1 + 1e-14 * o->calls;
    if (is(o, "scan_tape") && o->calls % 3 == 0) out[0] = 0;
    return KETGRAD_OK;
}

static ketgrad_status weights(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape,
                              ketgrad_err *err) {
    (void)user, (void)tape, (void)err;
    const double *w = x[0].data, *v = x[1].data;
    double sum = 0;
    for (size_t i = 0; i < x->shape[0]; i++) sum += w[i] * v[i];
    *(double *)y->data = sum;
    return KETGRAD_OK;
}

static ketgrad_status weights_back(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                                   const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err) {
    (void)tape, (void)y, (void)err;
    const double *w = x[0].data, *v = x[1].data;
    double b = is(user, "weights_forgets") ? 1 : *(const double *)y_bar->data, mean = 0;
    size_t n = x->shape[0];
    int swap = is(user, "weights_swapped");
    for (size_t i = 0; i < n; i++) mean += w[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        ((double *)x_bar[swap].data)[i] = v[i] * b;
        ((double *)x_bar[1 - swap].data)[i] = (is(user, "weights_mean") ? mean : w[i]) * b;
    }
    return KETGRAD_OK;
}

/* The outer product, a matrix of other extents than those of the inputs. */
static ketgrad_status outer_shape(void *user, const ketgrad_array *x, ketgrad_shape *y, ketgrad_err *err) {
    (void)user;
    if (x[0].ndim != 1 || x[1].ndim != 1) return ketgrad_fail(err, KETGRAD_INVALID, "expected two vectors");
    y->ndim = 2;
    y->dim[0] = x[0].shape[0];
    y->dim[1] = x[1].shape[0];
    return KETGRAD_OK;
}

static ketgrad_status outer(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape, ketgrad_err *err) {
    (void)tape, (void)err;
    const double *a = x[0].data, *b = x[1].data;
    double *out = y->data;
    size_t n = x[0].shape[0], m = x[1].shape[0];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) out[i * m + j] = a[i] * b[j];
    if (is(user, "outer_beyond")) out[n * m] = 1;
    if (is(user, "outer_before")) out[-1] = 1;
    return KETGRAD_OK;
}

static ketgrad_status outer_back(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                                 const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err) {
    (void)tape, (void)y, (void)err;
    const double *a = x[0].data, *b = x[1].data, *bar = y_bar->data;
    double *a_bar = x_bar[0].data, *b_bar = x_bar[1].data;
    size_t n = x[0].shape[0], m = x[1].shape[0];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            double t = bar[is(user, "outer_transposed") ? j * n + i : i * m + j];
            a_bar[i] += t * b[j];
            if (!(is(user, "outer_row") && i == 1)) b_bar[j] += t * a[i];
        }
    if (is(user, "outer_back_before")) a_bar[-1] = 0;
    return KETGRAD_OK;
}

/* For complex numbers z, a real number s and an int n: the moduli squared times s, and n times the sum of the conjugates: results of
 * both kinds, of inputs of three kinds. */
static ketgrad_status moments_shape(void *user, const ketgrad_array *x, ketgrad_shape *y, ketgrad_err *err) {
    (void)err;
    y[0] = (ketgrad_shape){.ndim = x[0].ndim};
    for (uint32_t k = 0; k < x[0].ndim; k++) y[0].dim[k] = x[0].shape[k];
    y[1].ndim = is(user, "moments_shape") ? 1 : 0;
    return KETGRAD_OK;
}

static size_t count(const ketgrad_array *x) {
    size_t n = 1;
    for (uint32_t k = 0; k < x->ndim; k++) n *= x->shape[k];
    return n;
}

static ketgrad_status moments(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape, ketgrad_err *err) {
    (void)tape;
    if (x[0].dtype != KETGRAD_C64 || x[1].dtype != KETGRAD_F64 || x[2].dtype != KETGRAD_F64)
        return ketgrad_fail(err, KETGRAD_INVALID, "inputs of other kinds");
    const double *z = x[0].data, s = *(const double *)x[1].data, k = *(const double *)x[2].data;
    double *squares = y[0].data, *sum = y[1].data;
    size_t n = count(x);
    for (size_t i = 0; i < n; i++) {
        squares[i] = s * (z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1]);
        sum[0] += k * z[2 * i];
        sum[1] -= k * z[2 * i + 1];
    }
    if (is(user, "moments_beyond_first")) squares[n] = 0;
    if (is(user, "moments_beyond_second")) sum[2] = 0;
    if (is(user, "moments_before_second")) sum[-1] = 0;
    return KETGRAD_OK;
}

static ketgrad_status moments_back(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                                   const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err) {
    (void)tape, (void)y, (void)err;
    const double *z = x[0].data, s = *(const double *)x[1].data, k = *(const double *)x[2].data;
    const double *squares = y_bar[0].data, *sum = y_bar[1].data;
    double *z_bar = x_bar[0].data, *s_bar = x_bar[1].data;
    double sign = is(user, "moments_holomorphic") ? 1 : -1;
    size_t n = count(x);
    for (size_t i = 0; i < n; i++) {
        double b = squares[is(user, "moments_first") ? 0 : i];
        z_bar[2 * i] = 2 * s * b * z[2 * i] + k * sum[0];
        z_bar[2 * i + 1] = 2 * s * b * z[2 * i + 1] + sign * k * sum[1];
        if (is(user, "moments_forgets_second")) z_bar[2 * i] = 2 * s * b * z[2 * i];
        s_bar[0] += b * (z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1]);
    }
    if (is(user, "moments_scale")) s_bar[0] = 0;
    if (is(user, "moments_int")) z_bar[0] *= k;
    if (is(user, "moments_beyond_bar")) s_bar[1] = 0;
    return KETGRAD_OK;
}

/* Each element times i and its place. */
static ketgrad_status turn(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape, ketgrad_err *err) {
    (void)user, (void)tape, (void)err;
    const double *in = x->data;
    double *out = y->data;
    for (size_t i = 0; i < x->shape[0]; i++) {
        out[2 * i] = -in[2 * i + 1] * (double)(i + 1);
        out[2 * i + 1] = in[2 * i] * (double)(i + 1);
    }
    return KETGRAD_OK;
}

static ketgrad_status turn_back(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                                const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err) {
    (void)tape, (void)y, (void)err;
    const double *b = y_bar->data;
    double *out = x_bar->data, sign = is(user, "turn_conj") ? -1 : 1;
    for (size_t i = 0; i < x->shape[0]; i++) {
        out[2 * i] = sign * b[2 * i + 1] * (double)(i + 1);
        out[2 * i + 1] = is(user, "turn_real") ? 0 : -sign * b[2 * i] * (double)(i + 1);
    }
    return KETGRAD_OK;
}

/* ---- gate kernels ---- */

typedef struct part {
    own *o;
    const ketgrad_gate *gate;
    double *state;
    size_t n, all, offset[64];
    uint32_t n_qubits;
} part;

static ketgrad_status apply_part(void *user, size_t from, size_t to) {
    part *p = user;
    const ketgrad_gate *g = p->gate;
    size_t dim = (size_t)1 << g->n_targets;
    uint64_t mask = g->control_mask, value = g->control_value;
    if (is(p->o, "control_ignored")) mask = value = 0;
    if (is(p->o, "control_zero")) value = mask;
    if (is(p->o, "one_control")) mask &= ~(mask & (mask - 1)), value &= mask;
    if (is(p->o, "pair_controls") && g->n_targets == 2) mask = value = 0;
    if (is(p->o, "split") && to < p->n) to--;
    for (size_t base = from; base < to; base++) {
        if (base & p->all || (base & mask) != value) continue;
        if (is(p->o, "last_amplitude") && (base | p->all) == p->n - 1) continue;
        double re[64], im[64];
        for (size_t row = 0; row < dim; row++) {
            re[row] = im[row] = 0;
            for (size_t column = 0; column < dim; column++) {
                if (g->kind == KETGRAD_GATE_DIAGONAL && row != column) continue;
                size_t at = g->kind == KETGRAD_GATE_DIAGONAL ? row : row * dim + column;
                if (is(p->o, "transposed") && g->kind == KETGRAD_GATE_DENSE) at = column * dim + row;
                if (is(p->o, "pair_order") && dim == 4 && g->kind == KETGRAD_GATE_DENSE) {
                    static const size_t swapped[4] = {0, 2, 1, 3};
                    at = swapped[row] * dim + swapped[column];
                }
                double m_re = g->matrix[2 * at], m_im = g->matrix[2 * at + 1];
                if (is(p->o, "imaginary")) m_im = 0;
                if (is(p->o, "conjugate")) m_im = -m_im;
                if (is(p->o, "diagonal_conjugate") && g->kind == KETGRAD_GATE_DIAGONAL) m_im = -m_im;
                const double *a = p->state + 2 * (base | p->offset[column]);
                re[row] += m_re * a[0] - m_im * a[1];
                im[row] += m_re * a[1] + m_im * a[0];
            }
        }
        for (size_t row = 0; row < dim; row++) {
            double *a = p->state + 2 * (base | p->offset[row]);
            a[0] = is(p->o, "single") ? (double)(float)re[row] : re[row];
            a[1] = is(p->o, "single") ? (double)(float)im[row] : im[row];
        }
    }
    return KETGRAD_OK;
}

static ketgrad_status apply_host(void *user, const ketgrad_host *host, uint32_t dtype, void *amplitudes,
                                 uint32_t n_qubits, const ketgrad_gate_list *gates, ketgrad_err *err) {
    (void)dtype;
    own *o = user;
    for (size_t k = 0; k < gates->len; k++) {
        const ketgrad_gate *g = (const void *)((const char *)gates->ptr + k * gates->stride);
        if (g->n_targets > 5) return ketgrad_fail(err, KETGRAD_INVALID, "an operator that it has not asked for");
        if (is(o, "beyond_10") && n_qubits > 10) continue;
        if (is(o, "beyond_12") && n_qubits > 12) continue;
        if (is(o, "beyond_13") && n_qubits > 13) continue;
        if (is(o, "beyond_15") && n_qubits > 15) continue;
        if (is(o, "long_list") && k >= 100) continue;
        if (is(o, "longer_list") && k >= 255) continue;
        if (is(o, "block") && k % 64 == 63) k--, o->calls++;
        if (is(o, "block") && o->calls % 2 == 0 && k % 64 == 62) k++;
        if (is(o, "high_target") && g->n_targets == 1 && g->targets[0] == n_qubits - 1) continue;
        if (is(o, "low_target") && g->n_targets == 1 && g->targets[0] == 0 && g->control_mask == 0) continue;
        if (is(o, "target_nine") && g->n_targets == 1 && g->targets[0] == 9) continue;
        if (is(o, "phases") && g->n_targets == 0) continue;
        part p = {.o = o, .gate = g, .state = amplitudes, .n = (size_t)1 << n_qubits, .n_qubits = n_qubits};
        for (size_t row = 0; row < (size_t)1 << g->n_targets; row++)
            for (uint32_t t = 0; t < g->n_targets; t++)
                if (row >> t & 1) p.offset[row] |= (size_t)1 << g->targets[t], p.all |= p.offset[row];
        /* The base of a group is in one part, whose other amplitudes no part touches. */
        if (host->parallel_for && n_qubits >= 14) {
            ketgrad_status status = host->parallel_for(host->ctx, p.n, p.n / 8, apply_part, &p);
            if (status != KETGRAD_OK) return status;
        } else {
            apply_part(&p, 0, p.n);
        }
    }
    return KETGRAD_OK;
}

static int32_t score(void *user, const ketgrad_query *query) {
    (void)user;
    return query->dtype == KETGRAD_C64 ? 100 : 0;
}

static void *owned(const ketgrad_host *host) {
    own *o = calloc(1, sizeof *o);
    ketgrad_str key = KETGRAD_STR("mutant"), text;
    if (o && host->option(host->ctx, key, &text) == KETGRAD_OK && text.len < sizeof o->mutant)
        memcpy(o->mutant, text.ptr, text.len);
    return o;
}

static ketgrad_status rule(const ketgrad_host *host, ketgrad_rule r, ketgrad_err *err) {
    r.struct_size = sizeof r;
    if (r.n_out == 0) r.n_out = 1;
    r.user = owned(host);
    r.drop_user = drop;
    return r.user ? host->add_rule(host->ctx, &r, err) : ketgrad_fail(err, KETGRAD_ERROR, "no memory");
}

static ketgrad_status init(const ketgrad_host *host, ketgrad_err *err) {
    ketgrad_status status = rule(host, (ketgrad_rule){
        .name = KETGRAD_STR("csquare"), .n_in = 1, .dtypes = 1u << KETGRAD_F64, .scalar_f64 = square,
        .program = KETGRAD_STR("rule csquare(x) { kernel(x) } pullback(x, y, y_bar) { 2.0 * x * y_bar }"),
    }, err);
    if (status != KETGRAD_OK) return status;
    status = rule(host, (ketgrad_rule){
        .name = KETGRAD_STR("cscan"), .n_in = 1, .dtypes = 1u << KETGRAD_F64,
        .signature = KETGRAD_STR("(xs: array) -> array"), .infer = as_first, .forward = scan, .pullback = scan_back,
    }, err);
    if (status != KETGRAD_OK) return status;
    status = rule(host, (ketgrad_rule){
        .name = KETGRAD_STR("cweights"), .n_in = 2, .dtypes = 1u << KETGRAD_F64,
        .signature = KETGRAD_STR("(ws: array, xs: array) -> real"), .infer = one, .forward = weights,
        .pullback = weights_back,
    }, err);
    if (status != KETGRAD_OK) return status;
    status = rule(host, (ketgrad_rule){
        .name = KETGRAD_STR("couter"), .n_in = 2, .dtypes = 1u << KETGRAD_F64,
        .signature = KETGRAD_STR("(xs: array, ys: array) -> array"), .infer = outer_shape, .forward = outer,
        .pullback = outer_back,
    }, err);
    if (status != KETGRAD_OK) return status;
    status = rule(host, (ketgrad_rule){
        .name = KETGRAD_STR("cmoments"), .n_in = 3, .n_out = 2, .dtypes = 1u << KETGRAD_F64 | 1u << KETGRAD_C64,
        .signature = KETGRAD_STR("(zs: array<complex>, s, n: int) -> (array, complex)"), .infer = moments_shape,
        .forward = moments, .pullback = moments_back,
    }, err);
    if (status != KETGRAD_OK) return status;
    status = rule(host, (ketgrad_rule){
        .name = KETGRAD_STR("cturn"), .n_in = 1, .dtypes = 1u << KETGRAD_C64,
        .signature = KETGRAD_STR("(zs: array<complex>) -> array<complex>"), .infer = as_first, .forward = turn,
        .pullback = turn_back,
    }, err);
    if (status != KETGRAD_OK) return status;
    ketgrad_backend b = {
        .struct_size = sizeof b, .name = KETGRAD_STR("mutants"), .mem = KETGRAD_MEM_HOST,
        .dtypes = 1u << KETGRAD_C64, .max_qubits = 20, .max_matrix_targets = 5, .gates = 1u << KETGRAD_GATE_DIAGONAL,
        .user = owned(host), .score = score, .apply_host = apply_host, .drop_user = drop,
    };
    return b.user ? host->add_backend(host->ctx, &b, err) : ketgrad_fail(err, KETGRAD_ERROR, "no memory");
}

KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {
    KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR, sizeof(ketgrad_desc), 0, 0,
    KETGRAD_STR("mutants"), KETGRAD_STR("1"), KETGRAD_STR(""), init,
};
