// The C interface for C++: no exception may cross it, so wrap the body of every function that ketgrad calls.
//
//     static ketgrad_status half(void *, const double *x, double *y, ketgrad_err *err) {
//         return ketgrad::guarded(err, [&] { *y = x[0] / 2; });
//     }
//
// A body may return a status of its own: `return ketgrad_fail(err, KETGRAD_ERROR, "...")`, and KETGRAD_OK at its end.
#ifndef KETGRAD_PLUGIN_HPP
#define KETGRAD_PLUGIN_HPP

#include "ketgrad_plugin.h"

#include <exception>
#include <type_traits>
#include <utility>

namespace ketgrad {

namespace detail {

template <class Body> ketgrad_status status_of(Body &&body, std::true_type) {
    std::forward<Body>(body)();
    return KETGRAD_OK;
}

template <class Body> ketgrad_status status_of(Body &&body, std::false_type) {
    using Given = typename std::decay<decltype(std::forward<Body>(body)())>::type;
    static_assert(std::is_same<Given, ketgrad_status>::value, "the body gives a ketgrad_status or nothing");
    return std::forward<Body>(body)();
}

} // namespace detail

/// Runs `body` and gives the status that it returns, or KETGRAD_OK if it returns nothing; what it throws becomes
/// KETGRAD_ERROR with the exception's message, or KETGRAD_PANIC.
template <class Body> ketgrad_status guarded(ketgrad_err *err, Body &&body) noexcept {
    try {
        return detail::status_of(std::forward<Body>(body), std::is_void<decltype(std::forward<Body>(body)())>());
    } catch (const std::exception &e) {
        return ketgrad_fail(err, KETGRAD_ERROR, e.what());
    } catch (...) {
        return ketgrad_fail(err, KETGRAD_PANIC, "an exception that is no std::exception");
    }
}

} // namespace ketgrad

#endif
