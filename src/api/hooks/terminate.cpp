// Prints a message if a program ends because a signal of the engine (core/rollback/signal.hpp) could not leave a
// function of the user. In this case C++ calls the terminate handler. The default handler's message names
// detail::unwind, but no function that the user wrote.
//
// The handler also reports a thread that is cancelled asynchronously in the middle of the engine.
//
// If a server runs procedures, the process does not end: the signal continues in the caller of the user's function
// (core/lifecycle/interrupt.hpp).
//
// The handler is installed when the library is loaded, so a handler that the program installs later replaces it. This
// handler calls the handler that was installed before.
#include <cxxabi.h>
#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <typeinfo>

#include "base/emergency_output.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "core/state/descriptor.hpp"
#include "observe/site.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::api {
namespace {

std::terminate_handler previous_handler = nullptr;

bool is_signal() noexcept {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return type != nullptr && *type == typeid(detail::unwind);
}

const char* name_of_signal(core::signal s) noexcept {
    switch (s) {
        case core::signal::retry: return "retry";
        case core::signal::cancel: return "cancel";
        default: return "restart";
    }
}

void print_signal_message() noexcept {
    const tx* const t = detail::current_transaction;
    if (t == nullptr) return;
    const auto& d = static_cast<const core::descriptor&>(*t);
    const std::string_view cause = name_of(d.cause);
    if (!base::accepts_output(STDERR_FILENO)) return;  // prints nothing; the process still ends
    std::fprintf(stderr,
                 "tutti: a %s (%.*s) of the atomic block at %s:%u cannot leave a function that is noexcept, such as a "
                 "destructor or a thread's first one. Remove the noexcept, or access transactional data outside "
                 "it. The calls that led here, the latest first:\n",
                 name_of_signal(d.pending), static_cast<int>(cause.size()), cause.data(), observe::file_of(d.run.where),
                 observe::line_of(d.run.where));
    std::fflush(stderr);
    std::array<void*, 16> frames;
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

/// Reports an asynchronous cancellation, which unwinds from any instruction, and cannot pass noexcept functions.
void die_if_cancelled() noexcept {
    const tx* const t = detail::current_transaction;
    if (t == nullptr || abi::__cxa_current_exception_type() != nullptr || !core::ends_cancellable_anywhere()) return;
    core::die_of_asynchronous_cancel(static_cast<const core::descriptor&>(*t));
}

/// Prints the message only once, because the function to be changed is usually the same for all such exceptions.
void print_noexcept_message() noexcept {
    static constinit std::atomic<bool> printed{false};
    if (printed.exchange(true, std::memory_order_relaxed) || !base::accepts_output(STDERR_FILENO)) return;
    base::write_emergency_message(
        "tutti: an atomic block of a procedure was restarted or cancelled inside a function that is noexcept. The "
        "server leaves that function without its destructors. Remove the noexcept. This message appears once. The "
        "calls that led here, the latest first:\n");
    std::array<void*, 16> frames;
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

void handle_terminate() {
    core::continue_past_noexcept(&print_noexcept_message);
    die_if_cancelled();
    if (is_signal()) print_signal_message();
    previous_handler();
}

__attribute__((constructor)) void install_handler() noexcept {
    previous_handler = std::set_terminate(handle_terminate);
}

__attribute__((destructor)) void remove_handler() noexcept {
    if (std::get_terminate() == handle_terminate) std::set_terminate(previous_handler);
}

}  // namespace
}  // namespace tutti::api
