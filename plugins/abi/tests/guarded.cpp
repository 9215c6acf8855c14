// What `ketgrad::guarded` makes of a body: its status, or that of what it throws. Prints what is wrong, if something is.

#include "ketgrad_plugin.hpp"

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

static int wrong = 0;

template <class Body> static void expect(const char *what, ketgrad_status status, const char *message, Body body) {
    char buffer[64];
    ketgrad_err err = {sizeof(ketgrad_err), 0, buffer, sizeof buffer, 0};
    ketgrad_status given = ketgrad::guarded(&err, body);
    if (given != status || std::string(buffer, err.len) != message) {
        std::printf("%s: %d `%.*s`\n", what, given, static_cast<int>(err.len), buffer);
        wrong++;
    }
}

/// A body that is no lambda, that cannot be copied and that is not const.
struct Once {
    int calls = 0;
    Once() = default;
    Once(const Once &) = delete;
    ketgrad_status operator()() { return ++calls == 1 ? KETGRAD_UNSUPPORTED : KETGRAD_OK; }
};

int main() {
    double y = 0;
    expect("nothing", KETGRAD_OK, "", [&] { y = 2; });
    expect("ok", KETGRAD_OK, "", []() -> ketgrad_status { return KETGRAD_OK; });
    for (ketgrad_status status : {KETGRAD_ERROR, KETGRAD_PANIC, KETGRAD_UNSUPPORTED, KETGRAD_INVALID, KETGRAD_NO_HARDWARE, 77})
        expect("a status", status, "", [=] { return static_cast<ketgrad_status>(status); });
    expect("an exception", KETGRAD_ERROR, "no root", [] { throw std::runtime_error("no root"); });
    expect("an exception instead of a status", KETGRAD_ERROR, "no root", []() -> ketgrad_status { throw std::logic_error("no root"); });
    expect("another thing thrown", KETGRAD_PANIC, "an exception that is no std::exception", [] { throw 42; });
    char buffer[8];
    ketgrad_err err = {sizeof(ketgrad_err), 0, buffer, sizeof buffer, 0};
    ketgrad_status status = ketgrad::guarded(&err, [&] { return ketgrad_fail(&err, KETGRAD_INVALID, "too large a number"); });
    if (status != KETGRAD_INVALID || err.len != 8 || std::memcmp(buffer, "too larg", 8) != 0) wrong++;
    Once once;
    if (ketgrad::guarded(nullptr, once) != KETGRAD_UNSUPPORTED || once.calls != 1) wrong++;
    if (y != 2) wrong++;
    std::printf("%d wrong\n", wrong);
    return wrong;
}
