// The C interface for C++: no exception may cross it, so wrap the body of every function that ketgrad calls.
//
//     static ketgrad_status half(void *, const double *x, double *y, ketgrad_err *err) {
//         return ketgrad::guarded(err, [&] { *y = x[0] / 2; });
//     }
#ifndef KETGRAD_PLUGIN_HPP
#define KETGRAD_PLUGIN_HPP

#include "ketgrad_plugin.h"

#include <exception>
#include <utility>

namespace ketgrad {

/// Runs `body`; what it throws becomes KETGRAD_ERROR with the exception's message, or KETGRAD_PANIC.
template <class Body> ketgrad_status guarded(ketgrad_err *err, Body &&body) noexcept {
    try {
        std::forward<Body>(body)();
        return KETGRAD_OK;
    } catch (const std::exception &e) {
        return ketgrad_fail(err, KETGRAD_ERROR, e.what());
    } catch (...) {
        return ketgrad_fail(err, KETGRAD_PANIC, "an exception that is no std::exception");
    }
}

} // namespace ketgrad

#endif
