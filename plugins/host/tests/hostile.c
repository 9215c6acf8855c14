/* What a plugin can do wrong that the Rust kit does not allow. One of the names below is defined. */

#include "ketgrad_plugin.h"

#include <string.h>

static ketgrad_status square(void *user, const double *x, double *y, ketgrad_err *err) {
    (void)user, (void)err;
    *y = x[0] * x[0];
    return KETGRAD_OK;
}

static ketgrad_status as_input(void *user, const ketgrad_array *x, ketgrad_shape *y, ketgrad_err *err) {
    (void)user, (void)err;
    y->ndim = x->ndim;
    y->dim[0] = x->shape[0];
#if defined(RANK)
    y->ndim = 1000;
#elif defined(HUGE_SHAPE)
    y->dim[0] = 0xffffffffffffffffull;
#elif defined(NO_DIMENSIONS)
    y->ndim = 0;
#endif
    return KETGRAD_OK;
}

static ketgrad_status twice(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape,
                            ketgrad_err *err) {
    (void)user, (void)tape, (void)err;
    const double *in = x->data;
    double *out = y->data;
    size_t n = x->shape[0];
#if defined(OVERRUN)
    n += 1;
#elif defined(NAMELESS_ERROR)
    return 77;
#elif defined(LONG_MESSAGE)
    err->len = 1u << 30;
#endif
#if defined(UNDERRUN)
    out[-1] = 0;
#endif
    for (size_t i = 0; i < n; i++) out[i] = 2 * in[i < x->shape[0] ? i : 0];
#if defined(LONG_MESSAGE)
    memset(err->buf, 'a', err->cap);
    return KETGRAD_ERROR;
#else
    return KETGRAD_OK;
#endif
}

static ketgrad_status twice_back(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                                 const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err) {
    (void)user, (void)tape, (void)y, (void)err;
    for (size_t i = 0; i < x->shape[0]; i++) ((double *)x_bar->data)[i] = 2 * ((double *)y_bar->data)[i];
    return KETGRAD_OK;
}

/* A rule as a newer header might have it. */
typedef struct newer_rule {
    ketgrad_rule rule;
    void (*added_later)(void);
    uint64_t more[7];
} newer_rule;

/* A switch of the processor that `-ffast-math` turns on at load. */
#if defined(FAST_MATH) && defined(__x86_64__)
__attribute__((constructor)) static void flush_denormals(void) {
    unsigned control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    control |= 0x8040u;
    __asm__ volatile("ldmxcsr %0" : : "m"(control));
}
#endif

__attribute__((unused)) static ketgrad_status init(const ketgrad_host *host, ketgrad_err *err) {
#if defined(EXTENSION) /* asks for a table that nobody has, and does without it */
    if (host->struct_size > offsetof(ketgrad_host, get_extension) && host->get_extension) {
        ketgrad_str id = KETGRAD_STR("nobody.has.this");
        if (host->get_extension(host->ctx, id)) return ketgrad_fail(err, KETGRAD_ERROR, "an extension of nobody");
    }
#endif
    newer_rule r;
    memset(&r, 0, sizeof r);
    r.rule.struct_size = sizeof r.rule;
    r.rule.name = (ketgrad_str)KETGRAD_STR("square");
    r.rule.n_in = r.rule.n_out = 1;
    r.rule.dtypes = 1u << KETGRAD_F64;
    r.rule.program = (ketgrad_str)KETGRAD_STR("rule square(x) { kernel(x) } pullback(x, y, y_bar) { 2.0 * x * y_bar }");
    r.rule.scalar_f64 = square;
#if defined(LONGER)
    r.rule.struct_size = sizeof r;
    memset(r.more, 0xff, sizeof r.more);
#elif defined(SHORTER) /* up to the scalar slot */
    r.rule.struct_size = offsetof(ketgrad_rule, scalar_c64);
    memset((char *)&r + r.rule.struct_size, 0xff, sizeof r - r.rule.struct_size);
#elif defined(TOO_SHORT)
    r.rule.struct_size = 16;
#elif defined(TWO_RESULTS)
    r.rule.n_out = 2;
#elif defined(NO_INPUTS) /* left to chance */
    r.rule.n_in = 0xcccccccc;
#elif defined(WORD)
    r.rule.name = (ketgrad_str)KETGRAD_STR("let");
#elif defined(BAD_NAME)
    r.rule.name = (ketgrad_str)KETGRAD_STR("not a name");
#elif defined(BUILT_IN)
    r.rule.name = (ketgrad_str)KETGRAD_STR("sin");
#elif defined(BAD_TEXT)
    r.rule.name = (ketgrad_str)KETGRAD_STR("\xff\xfe");
#elif defined(BAD_PROGRAM)
    r.rule.program = (ketgrad_str)KETGRAD_STR("rule square(x) { kernle(x) }");
#elif defined(OTHER_PROGRAM)
    r.rule.program = (ketgrad_str)KETGRAD_STR("rule cube(x) { x * x * x }");
#elif defined(OTHER_KINDS)
    r.rule.program = (ketgrad_str)KETGRAD_STR("rule square(x: complex) { x * x }");
#endif
    ketgrad_status status = host->add_rule(host->ctx, &r.rule, err);
    if (status != KETGRAD_OK) return status;
    memset(&r, 0, sizeof r);
    r.rule.struct_size = sizeof r.rule;
    r.rule.name = (ketgrad_str)KETGRAD_STR("twice");
    r.rule.n_in = r.rule.n_out = 1;
    r.rule.dtypes = 1u << KETGRAD_F64;
    r.rule.signature = (ketgrad_str)KETGRAD_STR("(xs: array) -> array");
    r.rule.infer = as_input;
    r.rule.forward = twice;
    r.rule.pullback = twice_back;
    return host->add_rule(host->ctx, &r.rule, err);
}

#if defined(BAD_MAGIC)
#define KETGRAD_THIS_MAGIC 42
#else
#define KETGRAD_THIS_MAGIC KETGRAD_MAGIC
#endif
#ifndef THIS_MAJOR
#define THIS_MAJOR KETGRAD_MAJOR
#endif
#ifndef THIS_MINOR
#define THIS_MINOR KETGRAD_MINOR
#endif
#ifndef NEEDS
#define NEEDS 0
#endif
#ifdef NO_INIT
#define THIS_INIT 0
#else
#define THIS_INIT init
#endif

#ifdef NOT_A_PLUGIN
KETGRAD_EXPORT ketgrad_status (*something_else)(const ketgrad_host *, ketgrad_err *) = init;
#else
KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {
    KETGRAD_THIS_MAGIC, THIS_MAJOR, THIS_MINOR, sizeof(ketgrad_desc), NEEDS, 0,
    KETGRAD_STR("hostile in C"), KETGRAD_STR("1.0"), KETGRAD_STR("C"), THIS_INIT,
};
#endif
