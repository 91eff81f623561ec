#include "server/calls/invocation.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <random>

#include "core/lifecycle/interrupt.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "server/calls/log_participant.hpp"
#include "tutti/atomically.hpp"
#include "tutti/errors.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::server {
namespace {

using std::chrono::microseconds;

constexpr const char* exits_thread =
    "it tried to end its thread (pthread_exit, or a cancellation), and its transaction was rolled back; end a call by "
    "a return or an exception";

constexpr microseconds max_deadline{std::chrono::hours{24 * 365}};

/// Rethrows the exception that is being handled. If that exception is a block's signal, throws instead the exception
/// for which the signal stands. A signal arrives here if it has passed a noexcept function and then its own block. The
/// block did not expect an exception from that function. call_boundary has rolled the block back.
[[noreturn]] void throw_what_ends_call() {
    try {
        throw;
    } catch (const tutti::detail::unwind&) {
        core::throw_pending();
    }
}

/// Cancels the exit of this thread, whose exception is being handled, so that the thread continues. To exit a thread,
/// glibc unwinds the stack with a foreign exception, whose object belongs to the thread. Foreign exceptions are never
/// stacked, so an empty head of the exception state means that the thread handles no exception (Itanium C++ ABI, 2.2.2
/// and 2.5.4). The end of the handler then does not touch the object. Otherwise the end of the handler would destroy
/// the object, and glibc would end the process.
void cancel_thread_exit() noexcept {
    *reinterpret_cast<void**>(abi::__cxa_get_globals()) = nullptr;  // caughtExceptions
}

/// Turns the exception that is being handled into an answer. `passed`: the exception has passed a noexcept function.
call_outcome explain(const job& of, const std::string& name, bool passed, reply& to) {
    const auto error = [&](call_outcome e, std::string_view what) {
        to.error(code_of(e), name + ": " + std::string{what} +
                                 (passed ? "; destructors did not run in a function that is noexcept" : ""));
        return e;
    };
    try {
        throw_what_ends_call();
    } catch (const abi::__forced_unwind&) {
        cancel_thread_exit();
        return error(call_outcome::exception, exits_thread);
    } catch (const bad_argument& e) {
        return error(call_outcome::argument, e.what());
    } catch (const tutti::stack_overflow_error&) {
        return error(call_outcome::stack_overflow, "stack overflow; its transaction was rolled back");
    } catch (const tutti::interrupted&) {
        if (of.is_interrupted_at_shutdown()) {
            return error(call_outcome::stranded,
                         "the server is shutting down, and no running call can wake it from `retry`");
        }
        if (of.abandon_flag())
            return error(call_outcome::client_gone, "its client disconnected while it waited in `retry`");
        return error(call_outcome::timeout, "it ran for longer than its time limit and was cancelled");
    } catch (const tutti::deadline_missed&) {
        return error(call_outcome::deadline, "it cannot meet its deadline");
    } catch (const tutti::cancelled&) {
        return error(call_outcome::cancelled, "it cancelled its transaction");
    } catch (const tutti::unreachable_error& e) {
        return error(e.outcome_known() ? call_outcome::unreachable : call_outcome::outcome_unknown, e.what());
    } catch (const not_leader_error& e) {
        return error(call_outcome::read_only, e.what());
    } catch (const log_unwritable_error& e) {
        return error(call_outcome::misconf, e.what());
    } catch (const std::exception& e) {
        return error(call_outcome::exception, e.what());
    } catch (...) {
        return error(call_outcome::exception, "it threw something that is not a std::exception");
    }
}

constexpr const char* no_single_value = "the codec of its result did not write one value";

constexpr const char* left_by_jump =
    "it left an atomic block by a jump (longjmp), and that block was rolled back; leave a block by its end, an "
    "exception, or a cancel";

/// Runs one procedure. The procedure must answer with exactly one value.
void run_body(const procedure_entry& which, const call& how, std::span<const std::string_view> arguments, reply& to) {
    core::call_boundary boundary;
    which.definition.body(how, arguments, to);
    // The check also detects a jump out of a block after which the procedure continued and ended normally. Blocks
    // around the call, such as the log's, must not commit only a part of the call.
    if (boundary.left_block()) throw std::runtime_error{left_by_jump};
    if (!to.complete()) throw std::runtime_error{no_single_value};
}

/// Runs all parts, and writes a list of their answers, or the answer of a single call. In a list, sets `at` to the
/// part that is running, and to null after the last part.
void run_parts(const invocation& i, const call& how, std::span<const std::string_view> arguments, std::string& answer,
               const procedure_entry*& at) {
    answer.clear();  // discards the answer of the previous attempt
    reply to{answer, i.spoken};
    if (i.queued_calls.empty()) {
        run_body(*i.entry, how, arguments, to);
        return;
    }
    to.list(i.queued_calls.size());
    auto left = arguments;
    for (const invocation::queued_call& p : i.queued_calls) {
        std::string one;
        reply to_one{one, i.spoken};
        at = p.entry;
        run_body(*p.entry, how, left.first(p.arguments), to_one);
        answer += one;
        left = left.subspan(p.arguments);
    }
    at = nullptr;
}

/// Runs the call as one transaction, which `in` joins unless it is null. An exception from a part rolls back all parts.
void run_as_one(const invocation& i, const call& how, std::span<const std::string_view> arguments, std::string& answer,
                const procedure_entry*& at, log_participant* in) {
    tutti::atomically({.name = i.entry->definition.name.c_str(), .deadline = how.deadline}, [&](tutti::tx& t) {
        run_parts(i, how, arguments, answer, at);
        if (in != nullptr) in->join(t);
    });
}

/// Runs the call as a transaction that is known to be read-only, and needs no position in the log.
void run_reading(const invocation& i, const call& how, std::span<const std::string_view> arguments, std::string& answer,
                 const procedure_entry*& at) {
    tutti::atomically({.name = i.entry->definition.name.c_str(), .read_only = true, .deadline = how.deadline},
                      [&](tutti::tx&) { run_parts(i, how, arguments, answer, at); });
}

/// Returns a number for each call. Clients cannot guess the next number (SplitMix64: Steele, Lea, Flood, OOPSLA 2014,
/// section 5, with a random start from the system).
std::uint64_t next_seed() {
    thread_local std::uint64_t state = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

std::int64_t time_of_day() {
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool refuses_late(const invocation& i) noexcept {
    return i.entry->definition.options.refuse_late ||
           std::ranges::any_of(i.queued_calls, [](const invocation::queued_call& p) {
               return p.entry->definition.options.refuse_late;
           });
}

}  // namespace

std::string_view code_of(call_outcome e) noexcept {
    switch (e) {
        case call_outcome::ok: return "OK";
        case call_outcome::busy: return "BUSY";
        case call_outcome::argument: return "ARGUMENT";
        case call_outcome::cancelled: return "CANCELLED";
        case call_outcome::deadline: return "DEADLINE";
        case call_outcome::exception: return "EXCEPTION";
        case call_outcome::timeout: return "TIMEOUT";
        case call_outcome::shutdown: return "SHUTDOWN";
        case call_outcome::stack_overflow: return "STACKOVERFLOW";
        case call_outcome::stranded: return "STRANDED";
        case call_outcome::client_gone: return "CLIENTGONE";
        case call_outcome::misconf: return "MISCONF";
        case call_outcome::read_only: return "READONLY";
        case call_outcome::unsaved: return "UNSAVED";
        case call_outcome::unreplicated: return "UNREPLICATED";
        case call_outcome::unreachable: return "UNREACHABLE";
        case call_outcome::outcome_unknown: return "INDOUBT";
    }
    return "ERR";
}

void set_priority_and_deadline(invocation& i, std::optional<int> priority, std::optional<microseconds> deadline,
                               instant arrived) {
    const procedure_options& own = i.entry->definition.options;
    i.how.priority = priority.value_or(own.priority);
    if (i.how.priority < 0 || i.how.priority > highest_priority)
        throw bad_argument{"PRIORITY is from 0 to " + std::to_string(highest_priority)};
    const microseconds due = deadline.value_or(own.deadline);
    if (due.count() < 0 || due > max_deadline) throw bad_argument{"DEADLINE is microseconds from now, up to a year"};
    if (due.count() == 0) return;
    i.due = arrived + due;
    i.how.deadline = i.due;
}

bool accepts_arguments(const procedure_entry& which, std::size_t arguments, reply& to) {
    const procedure& p = which.definition;
    if (arguments >= p.min_arguments && arguments <= p.max_arguments) return true;
    std::string wanted = std::to_string(p.min_arguments);
    if (p.max_arguments > p.min_arguments)
        wanted += p.max_arguments > 1000 ? " or more" : " to " + std::to_string(p.max_arguments);
    to.error(code_of(call_outcome::argument),
             p.name + ": wrong number of arguments: expected " + wanted + ", got " + std::to_string(arguments));
    return false;
}

call_outcome run(const job& of, const invocation& i, std::span<const std::string_view> arguments, std::string& answer,
                 log_context& logged) noexcept {
    const procedure& p = i.entry->definition;
    reply to{answer, i.spoken};
    const auto start_over = [&] {
        answer.clear();
        to = reply{answer, i.spoken};
    };
    const procedure_entry* at = nullptr;
    static_cast<void>(core::consume_passed_noexcept());  // resets the flag of an earlier call
    try {
        if (refuses_late(i) && i.due != no_deadline && std::chrono::steady_clock::now() > i.due) {
            to.error(code_of(call_outcome::deadline), p.name + ": its deadline passed before it began");
            return call_outcome::deadline;
        }
        call how = i.how;
        how.gone = &of.abandon_flag();
        how.seed = next_seed();
        if (logged.log != nullptr && is_read_only(i)) {
            run_reading(i, how, arguments, answer, at);
        } else if (logged.log != nullptr) {
            if (logged.log->has_error()) throw log_unwritable_error{logged.log->error()};
            if (logged.log->is_full()) return answer_refused(i, call_outcome::busy, answer);
            how.began = time_of_day();
            log_participant in{logged, i, how, arguments, answer};
            run_as_one(i, how, arguments, answer, at, &in);
        } else if (!i.queued_calls.empty()) {
            run_as_one(i, how, arguments, answer, at, nullptr);
        } else {
            run_body(*i.entry, how, arguments, to);
        }
        return call_outcome::ok;
    } catch (...) {
        start_over();
        try {
            return explain(of, at == nullptr ? p.name : p.name + ": " + at->definition.name,
                           core::consume_passed_noexcept(), to);
        } catch (...) {
            answer = "-EXCEPTION .\r\n";  // no memory for the text; any string has room for these few bytes
            return call_outcome::exception;
        }
    }
}

bool is_read_only(const invocation& i) noexcept {
    if (i.queued_calls.empty()) return i.entry->definition.options.read_only;
    return std::ranges::all_of(i.queued_calls,
                               [](const invocation::queued_call& p) { return p.entry->definition.options.read_only; });
}

void run_again(const invocation& i, const call& how, std::span<const std::string_view> arguments, std::string& answer) {
    const procedure_entry* at = nullptr;
    try {
        tutti::atomically([&](tutti::tx&) { run_parts(i, how, arguments, answer, at); });
    } catch (const tutti::interrupted&) {
        throw std::runtime_error{"it waits in `retry`, or exceeds its time limit"};
    } catch (const std::exception&) {
        throw;
    } catch (const abi::__forced_unwind&) {
        cancel_thread_exit();
        throw std::runtime_error{exits_thread};
    } catch (...) {
        throw std::runtime_error{"it threw something that is not a std::exception"};
    }
}

call_outcome answer_unsaved(const invocation& i, const std::string& why, std::string& answer) noexcept {
    answer.clear();
    try {
        reply{answer, i.spoken}.error(
            code_of(call_outcome::unsaved),
            i.entry->definition.name +
                ": it ran, but its effects and the data that it read may be lost in a crash: " + why);
    } catch (...) {
        answer = "-UNSAVED .\r\n";  // as in `run`
    }
    return call_outcome::unsaved;
}

call_outcome answer_unreplicated(const invocation& i, std::string& answer) noexcept {
    answer.clear();
    try {
        reply{answer, i.spoken}.error(code_of(call_outcome::unreplicated),
                                      i.entry->definition.name +
                                          ": it ran and is in this server's log, but not enough followers had it "
                                          "before the timeout; it may be lost with this server");
    } catch (...) {
        answer = "-UNSAVED .\r\n";  // as in `run`: also true, and short enough
    }
    return call_outcome::unreplicated;
}

call_outcome answer_refused(const invocation& i, call_outcome why, std::string& answer) noexcept {
    try {
        reply to{answer, i.spoken};
        write_refusal(why, to);
    } catch (...) {
        answer = why == call_outcome::busy ? "-BUSY .\r\n" : "-SHUTDOWN .\r\n";  // as in `run`
    }
    return why;
}

call_outcome answer_stack_overflow(const invocation& i, std::string& answer) noexcept {
    answer.clear();
    try {
        reply{answer, i.spoken}.error(
            code_of(call_outcome::stack_overflow),
            i.entry->definition.name +
                ": stack overflow; it was terminated in place, and what it held outside of transactions is lost");
    } catch (...) {
        answer = "-EXCEPTION .\r\n";  // as in `run`: the code of this outcome is too long for a string without memory
    }
    return call_outcome::stack_overflow;
}

call_outcome answer_terminated(const invocation& i, std::string& answer) noexcept {
    answer.clear();
    try {
        reply{answer, i.spoken}.error(code_of(call_outcome::timeout),
                                      i.entry->definition.name +
                                          ": it did not end when it was cancelled, and was terminated in place; what "
                                          "it held outside of transactions is lost");
    } catch (...) {
        answer = "-TIMEOUT .\r\n";  // as in `run`
    }
    return call_outcome::timeout;
}

void write_overdue_error(const invocation& i, std::string& answer) {
    reply{answer, i.spoken}.error(
        code_of(call_outcome::timeout),
        i.entry->definition.name +
            ": it runs for longer than its time limit and is being cancelled; it may have had effects");
}

void write_refusal(call_outcome why, reply& to) {
    to.error(code_of(why), why == call_outcome::shutdown ? "the server is shutting down"
                                                         : "too many calls are queued; try again later");
}

std::chrono::nanoseconds time_limit_of(const invocation& i, const settings& how) noexcept {
    const auto limit_of = [&how](const procedure_entry& e) {
        const std::chrono::milliseconds own = e.definition.options.time_limit;
        return own.count() > 0 ? own : how.time_limit;
    };
    if (i.queued_calls.empty()) return limit_of(*i.entry);
    // The limit of several calls is the sum of their limits. If one of them has no limit, the sum is unlimited.
    std::chrono::nanoseconds sum{0};
    for (const invocation::queued_call& p : i.queued_calls) {
        const std::chrono::milliseconds own = limit_of(*p.entry);
        if (own.count() == 0) return {};
        sum += own;
    }
    return sum;
}

}  // namespace tutti::server
