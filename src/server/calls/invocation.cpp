#include "server/calls/invocation.hpp"

#include <algorithm>

#include "tutti/atomically.hpp"
#include "tutti/errors.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::server {
namespace {

using std::chrono::microseconds;

constexpr microseconds longest_deadline{std::chrono::hours{24 * 365}};

/// What the exception that is being handled means to the caller.
ending explain(const job& of, const std::string& name, reply& to) {
    const auto error = [&](ending e, std::string_view what) {
        to.error(code_of(e), name + ": " + std::string{what});
        return e;
    };
    try {
        throw;
    } catch (const bad_argument& e) {
        return error(ending::argument, e.what());
    } catch (const tutti::out_of_stack&) {
        return error(ending::stack, "its stack did not suffice; its transaction was rolled back");
    } catch (const tutti::interrupted&) {
        if (of.stranded()) {
            return error(ending::stranded,
                         "the server is ending, and nothing was left that could wake it from `retry`");
        }
        if (of.abandoned()) return error(ending::gone, "its client has gone, and it was waiting in `retry`");
        return error(ending::timeout, "it ran for longer than its time limit and was cancelled");
    } catch (const tutti::deadline_missed&) {
        return error(ending::deadline, "it could not meet its deadline");
    } catch (const tutti::cancelled&) {
        return error(ending::cancelled, "it cancelled its transaction");
    } catch (const std::exception& e) {
        return error(ending::exception, e.what());
    } catch (...) {
        return error(ending::exception, "it threw something that is not a std::exception");
    }
}

/// All of them in one transaction, into a list of their answers. What one of them throws rolls all of them back, and
/// `at` says which that was; null: none.
void run_together(const invocation& i, const call& how, std::span<const std::string_view> arguments,
                  std::string& answer, const entry*& at) {
    tutti::atomically({.name = "EXEC", .deadline = how.deadline}, [&](tutti::tx&) {
        answer.clear();  // of the attempt before
        reply{answer, i.spoken}.list(i.parts.size());
        auto left = arguments;
        for (const invocation::part& p : i.parts) {
            std::string one;
            reply to{one, i.spoken};
            at = p.which;
            p.which->what.body(how, left.first(p.arguments), to);
            if (!to.complete()) throw std::runtime_error{"the codec of its result did not write one value"};
            answer += one;
            left = left.subspan(p.arguments);
        }
        at = nullptr;
    });
}

bool refuses_late(const invocation& i) noexcept {
    return i.which->what.options.refuse_late ||
           std::ranges::any_of(i.parts, [](const invocation::part& p) { return p.which->what.options.refuse_late; });
}

}  // namespace

std::string_view code_of(ending e) noexcept {
    switch (e) {
        case ending::ok: return "OK";
        case ending::busy: return "BUSY";
        case ending::argument: return "ARGUMENT";
        case ending::cancelled: return "CANCELLED";
        case ending::deadline: return "DEADLINE";
        case ending::exception: return "EXCEPTION";
        case ending::timeout: return "TIMEOUT";
        case ending::shutdown: return "SHUTDOWN";
        case ending::stack: return "STACK";
        case ending::stranded: return "STRANDED";
        case ending::gone: return "GONE";
    }
    return "ERR";
}

void plan(invocation& i, std::optional<int> priority, std::optional<microseconds> deadline, instant arrived) {
    const procedure_options& own = i.which->what.options;
    i.how.priority = priority.value_or(own.priority);
    if (i.how.priority < 0 || i.how.priority > highest_priority)
        throw bad_argument{"PRIORITY is from 0 to " + std::to_string(highest_priority)};
    const microseconds due = deadline.value_or(own.deadline);
    if (due.count() < 0 || due > longest_deadline)
        throw bad_argument{"DEADLINE is microseconds from now, up to a year"};
    if (due.count() == 0) return;
    i.due = arrived + due;
    i.how.deadline = i.due;
}

bool takes(const entry& which, std::size_t arguments, reply& to) {
    const procedure& p = which.what;
    if (arguments >= p.least && arguments <= p.most) return true;
    std::string wanted = std::to_string(p.least);
    if (p.most > p.least) wanted += p.most > 1000 ? " or more" : " to " + std::to_string(p.most);
    to.error(code_of(ending::argument),
             p.name + ": it takes " + wanted + " arguments and was given " + std::to_string(arguments));
    return false;
}

ending run(const job& of, const invocation& i, std::span<const std::string_view> arguments,
           std::string& answer) noexcept {
    const procedure& p = i.which->what;
    reply to{answer, i.spoken};
    const auto start_over = [&] {
        answer.clear();
        to = reply{answer, i.spoken};
    };
    const entry* at = nullptr;
    try {
        if (refuses_late(i) && i.due != no_deadline && std::chrono::steady_clock::now() > i.due) {
            to.error(code_of(ending::deadline), p.name + ": its deadline passed before it began");
            return ending::deadline;
        }
        call how = i.how;
        how.gone = &of.abandoned();
        if (!i.parts.empty()) {
            run_together(i, how, arguments, answer, at);
            return ending::ok;
        }
        p.body(how, arguments, to);
        if (to.complete()) return ending::ok;
        start_over();
        to.error(code_of(ending::exception), p.name + ": the codec of its result did not write one value");
        return ending::exception;
    } catch (...) {
        start_over();
        try {
            return explain(of, at == nullptr ? p.name : p.name + ": " + at->what.name, to);
        } catch (...) {
            answer = "-EXCEPTION .\r\n";  // there is no memory for words, and any string has room for so many bytes
            return ending::exception;
        }
    }
}

ending run_refused(const invocation& i, std::string& answer) noexcept {
    try {
        reply to{answer, i.spoken};
        refuse(ending::busy, to);
    } catch (...) {
        answer = "-BUSY .\r\n";  // as in `run`
    }
    return ending::busy;
}

ending run_over(const invocation& i, std::string& answer) noexcept {
    answer.clear();
    try {
        reply{answer, i.spoken}.error(code_of(ending::stack),
                                      i.which->what.name +
                                          ": its stack did not suffice; it was ended where it stood, and "
                                          "what it held outside of transactions is lost");
    } catch (...) {
        answer = "-STACK .\r\n";  // as in `run`
    }
    return ending::stack;
}

ending run_ended(const invocation& i, std::string& answer) noexcept {
    answer.clear();
    try {
        reply{answer, i.spoken}.error(code_of(ending::timeout),
                                      i.which->what.name +
                                          ": it did not end when it was cancelled, and was ended where it stood; what "
                                          "it held outside of transactions is lost");
    } catch (...) {
        answer = "-TIMEOUT .\r\n";  // as in `run`
    }
    return ending::timeout;
}

void tell_overdue(const invocation& i, std::string& answer) {
    reply{answer, i.spoken}.error(
        code_of(ending::timeout),
        i.which->what.name +
            ": it runs for longer than its time limit and is being cancelled; it may have had effects");
}

void refuse(ending why, reply& to) {
    to.error(code_of(why), why == ending::shutdown ? "the server is ending and takes no more calls"
                                                   : "too many calls wait already; try again later");
}

std::chrono::nanoseconds time_limit_of(const invocation& i, const settings& how) noexcept {
    const auto limit_of = [&how](const entry& e) {
        const std::chrono::milliseconds own = e.what.options.time_limit;
        return own.count() > 0 ? own : how.time_limit;
    };
    if (i.parts.empty()) return limit_of(*i.which);
    // As long as they may take one after the other; without a limit if one of them has none.
    std::chrono::nanoseconds sum{0};
    for (const invocation::part& p : i.parts) {
        const std::chrono::milliseconds own = limit_of(*p.which);
        if (own.count() == 0) return {};
        sum += own;
    }
    return sum;
}

}  // namespace tutti::server
