/* A plugin with one of everything: rules, a kernel for states in the host's memory, a device. Options say what goes wrong
 * and where: `at` names the function (or is `*`), `how` what it does there. Before `init` there are no options: the
 * environment variable WRECK_LOAD says what happens then. */

#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "ketgrad_plugin.h"

#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char at[32], how[32];
static volatile int zero, turns;

/* Another rounding, and denormal numbers flushed where the processor has a bit for it. */
static void spoil(void) {
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    unsigned control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    control |= 0x8040u;
    __asm__ volatile("ldmxcsr %0" : : "m"(control));
#endif
}

/* Each call has its own memory, which the next one cannot use again. */
__attribute__((noinline)) static int deeper(volatile char *before) {
    volatile char room[4096];
    room[0] = before ? before[0] + 1 : 1;
    return (zero ? 0 : deeper(room)) + room[0];
}

static void wreck(const char *where) {
    if (strcmp(at, "*") != 0 && strcmp(at, where) != 0) return;
    if (!strcmp(how, "modes")) spoil();
    if (!strcmp(how, "segv")) *(volatile int *)(uintptr_t)(8 + zero) = 1;
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "bus")) raise(SIGBUS);
    if (!strcmp(how, "fpe")) {
#if defined(__x86_64__)
        turns = turns / zero;
#else
        raise(SIGFPE);
#endif
    }
    if (!strcmp(how, "ill")) __builtin_trap();
    if (!strcmp(how, "exit0")) exit(0);
    if (!strcmp(how, "exit3")) exit(3);
    if (!strcmp(how, "quick_exit")) quick_exit(0);
    if (!strcmp(how, "_exit")) _exit(0);
    if (!strcmp(how, "stack")) turns = deeper(0);
    if (!strcmp(how, "free")) {
        char *volatile p = malloc(64);
        free(p);
        free(p);
    }
    if (!strcmp(how, "loop"))
        for (;;) turns++;
    if (!strcmp(how, "sleep"))
        for (;;) sleep(1);
    if (!strcmp(how, "memory"))
        for (;;) memset(malloc(1 << 24), 1, 1 << 24);
    if (!strcmp(how, "children"))
        for (;;)
            if (fork() == 0 || turns++ > 8) sleep(600);
}

__attribute__((constructor)) static void loaded(void) {
    const char *what = getenv("WRECK_LOAD");
    if (!what) return;
    strncpy(how, what, sizeof how - 1);
    strcpy(at, "load");
    wreck("load");
    at[0] = 0;
}

static ketgrad_status square(void *user, const double *x, double *y, ketgrad_err *err) {
    (void)user, (void)err;
    wreck("scalar");
    *y = x[0] * x[0];
#if defined(BEHIND)
    y[1] = 1;
#elif defined(BEFORE)
    y[-1] = 1;
#elif defined(INPUT)
    ((double *)x)[0] = 7;
#elif defined(BEHIND_AND_ERROR)
    y[4] = 1;
    return ketgrad_fail(err, KETGRAD_ERROR, "no");
#endif
    return KETGRAD_OK;
}

static ketgrad_status square_complex(void *user, const double *x, double *y, ketgrad_err *err) {
    (void)user, (void)err;
    wreck("complex");
    y[0] = x[0] * x[0] - x[1] * x[1];
    y[1] = 2 * x[0] * x[1];
#if defined(BEHIND)
    y[3] = 1;
#elif defined(BEFORE)
    y[-4] = 1;
#elif defined(INPUT)
    ((double *)x)[1] = 7;
#endif
    return KETGRAD_OK;
}

static ketgrad_status as_input(void *user, const ketgrad_array *x, ketgrad_shape *y, ketgrad_err *err) {
    (void)user, (void)err;
    wreck("infer");
    y->ndim = x->ndim;
    y->dim[0] = x->shape[0];
    return KETGRAD_OK;
}

static ketgrad_status twice(void *user, const ketgrad_array *x, const ketgrad_array *y, void **tape, ketgrad_err *err) {
    (void)user, (void)err;
    wreck("forward");
    for (size_t i = 0; i < x->shape[0]; i++) ((double *)y->data)[i] = 2 * ((double *)x->data)[i];
#if defined(INPUT)
    ((double *)x->data)[0] += 1;
#endif
    *tape = malloc(8);
    return KETGRAD_OK;
}

static ketgrad_status twice_back(void *user, void *tape, const ketgrad_array *x, const ketgrad_array *y,
                                 const ketgrad_array *y_bar, const ketgrad_array *x_bar, ketgrad_err *err) {
    (void)user, (void)tape, (void)y, (void)err;
    wreck("pullback");
    for (size_t i = 0; i < x->shape[0]; i++) ((double *)x_bar->data)[i] = 2 * ((double *)y_bar->data)[i];
    return KETGRAD_OK;
}

static void free_tape(void *user, void *tape) {
    (void)user;
    wreck("free_tape");
    free(tape);
}

static void drop_user(void *user) {
    (void)user;
    wreck("drop_user");
}

static int32_t score(void *user, const ketgrad_query *query) {
    (void)user, (void)query;
    wreck("score");
    return 1;
}

static ketgrad_status describe(void *user, ketgrad_err *text) {
    (void)user;
    wreck("describe");
    return ketgrad_fail(text, KETGRAD_OK, "a wreck");
}

static ketgrad_status body(void *user, size_t from, size_t to) {
    (void)user, (void)from, (void)to;
    wreck("body");
    return KETGRAD_OK;
}

static ketgrad_status apply_host(void *user, const ketgrad_host *host, uint32_t dtype, void *amplitudes,
                                 uint32_t n_qubits, const ketgrad_gate_list *gates, ketgrad_err *err) {
    (void)user, (void)dtype, (void)amplitudes, (void)n_qubits, (void)gates, (void)err;
    wreck("apply_host");
    return host->parallel_for(host->ctx, 64, 1, body, 0);
}

typedef struct state {
    size_t bytes;
    void *data;
} state;

static ketgrad_status state_new(void *user, uint32_t dtype, uint32_t n_qubits, void **out, ketgrad_err *err) {
    (void)user, (void)err;
    wreck("state_new");
    state *s = malloc(sizeof *s);
    s->bytes = (size_t)(dtype == KETGRAD_C32 ? 8 : 16) << n_qubits;
    s->data = calloc(1, s->bytes);
    *out = s;
    return KETGRAD_OK;
}

static void state_free(void *user, void *p) {
    (void)user;
    wreck("state_free");
    free(((state *)p)->data);
    free(p);
}

static ketgrad_status upload(void *user, void *p, const void *amplitudes, size_t bytes, ketgrad_err *err) {
    (void)user, (void)err;
    wreck("upload");
    memcpy(((state *)p)->data, amplitudes, bytes);
    return KETGRAD_OK;
}

static ketgrad_status download(void *user, void *p, void *amplitudes, size_t bytes, ketgrad_err *err) {
    (void)user, (void)err;
    wreck("download");
    memcpy(amplitudes, ((state *)p)->data, bytes);
    return KETGRAD_OK;
}

static ketgrad_status wait_for(void *user, void *p, ketgrad_err *err) {
    (void)user, (void)p, (void)err;
    wreck("sync");
    return KETGRAD_OK;
}

static ketgrad_status apply(void *user, void *p, const ketgrad_gate_list *gates, ketgrad_err *err) {
    (void)user, (void)p, (void)gates, (void)err;
    wreck("apply");
    return KETGRAD_OK;
}

static void option(const ketgrad_host *host, ketgrad_str key, char *into) {
    ketgrad_str value;
    if (host->option(host->ctx, key, &value) != KETGRAD_OK || value.len >= 32) return;
    memcpy(into, value.ptr, value.len);
    into[value.len] = 0;
}

static ketgrad_status init(const ketgrad_host *host, ketgrad_err *err) {
    static char owned;
    option(host, (ketgrad_str)KETGRAD_STR("at"), at);
    option(host, (ketgrad_str)KETGRAD_STR("how"), how);
    ketgrad_rule square_rule = {
        .struct_size = sizeof(ketgrad_rule),
        .name = KETGRAD_STR("square"),
        .n_in = 1,
        .n_out = 1,
        .dtypes = 1u << KETGRAD_F64,
        .program = KETGRAD_STR("rule square(x) { kernel(x) } pullback(x, y, y_bar) { 2.0 * x * y_bar }"),
        .scalar_f64 = square,
        .user = &owned,
#if !defined(LEAKS)
        .drop_user = drop_user,
#endif
    };
    ketgrad_status status = host->add_rule(host->ctx, &square_rule, err);
    if (status != KETGRAD_OK) return status;
    ketgrad_rule complex_rule = {
        .struct_size = sizeof(ketgrad_rule),
        .name = KETGRAD_STR("square_complex"),
        .n_in = 1,
        .n_out = 1,
        .dtypes = 1u << KETGRAD_C64,
        .program = KETGRAD_STR("rule square_complex(z: complex) { kernel(z) } pullback(z, y, y_bar) { 2.0 * conj(z) * y_bar }"),
        .scalar_c64 = square_complex,
    };
    status = host->add_rule(host->ctx, &complex_rule, err);
    if (status != KETGRAD_OK) return status;
    ketgrad_rule twice_rule = {
        .struct_size = sizeof(ketgrad_rule),
        .name = KETGRAD_STR("twice"),
        .n_in = 1,
        .n_out = 1,
        .dtypes = 1u << KETGRAD_F64,
        .signature = KETGRAD_STR("(xs: array) -> array"),
        .infer = as_input,
        .forward = twice,
        .pullback = twice_back,
#if !defined(LEAKS)
        .free_tape = free_tape,
#endif
    };
    status = host->add_rule(host->ctx, &twice_rule, err);
    if (status != KETGRAD_OK) return status;
    ketgrad_backend here = {
        .struct_size = sizeof(ketgrad_backend),
        .name = KETGRAD_STR("here"),
        .mem = KETGRAD_MEM_HOST,
        .dtypes = 1u << KETGRAD_C64,
        .max_qubits = 20,
        .max_matrix_targets = 3,
        .score = score,
        .apply_host = apply_host,
        .describe = describe,
#if defined(LEAKS)
        .user = &owned,
#endif
    };
    status = host->add_backend(host->ctx, &here, err);
    if (status != KETGRAD_OK) return status;
    ketgrad_backend device = {
        .struct_size = sizeof(ketgrad_backend),
        .name = KETGRAD_STR("there"),
        .mem = KETGRAD_MEM_OPAQUE,
        .dtypes = 1u << KETGRAD_C64,
        .max_qubits = 20,
        .max_matrix_targets = 3,
        .state_new = state_new,
        .state_free = state_free,
        .upload = upload,
        .download = download,
        .sync = wait_for,
        .apply = apply,
    };
    status = host->add_backend(host->ctx, &device, err);
    if (status != KETGRAD_OK) return status;
    wreck("init");
    (void)drop_user, (void)free_tape;
    return KETGRAD_OK;
}

KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {
    KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR, sizeof(ketgrad_desc), 0, 0,
    KETGRAD_STR("wreck"), KETGRAD_STR("1.0"), KETGRAD_STR(""), init,
};
