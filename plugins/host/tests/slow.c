/* A rule whose kernel is fast everywhere, and whose program, which runs on numbers that carry derivatives, never ends above 1000. */
#include "ketgrad_plugin.h"

static ketgrad_status kernel(void *user, const double *x, double *y, ketgrad_err *err) {
    (void)user;
    (void)err;
    *y = *x;
    return KETGRAD_OK;
}

static ketgrad_status init(const ketgrad_host *host, ketgrad_err *err) {
    ketgrad_rule rule = {
        .struct_size = sizeof rule,
        .name = KETGRAD_STR("slow"),
        .n_in = 1,
        .n_out = 1,
        .dtypes = 1u << KETGRAD_F64,
        .program = KETGRAD_STR("rule slow(x) {"
                               "    let mut y = x;"
                               "    for i in 0..100 { y = 2.0 * (0.5 * y); }"
                               "    while y > 1000.0 { y = y + 1.0; }"
                               "    y"
                               "}"),
        .scalar_f64 = kernel,
    };
    return host->add_rule(host->ctx, &rule, err);
}

KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {
    KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR, sizeof(ketgrad_desc), 0, 0,
    KETGRAD_STR("slow"), KETGRAD_STR("0.1.0"), KETGRAD_STR(""), init,
};
