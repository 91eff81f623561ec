// The procedures that the server's tests load: accounts, and procedures that misbehave.
#include <pthread.h>
#include <threads.h>

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tutti/containers/hash_map.hpp>
#include <tutti/server/procedure.hpp>
#include <tutti/tutti.hpp>

namespace {

using tutti::server::call;
using namespace std::chrono_literals;

struct bank {
    explicit bank(std::size_t n) : accounts(n) {
        for (auto& a : accounts) a.store(1000);
    }
    ~bank() {
        if (!await_at_end.empty()) std::ifstream{await_at_end}.get();
    }
    tutti::var<long>& at(long which) {
        if (which < 0 || static_cast<std::size_t>(which) >= accounts.size()) throw std::out_of_range{"no such account"};
        return accounts[static_cast<std::size_t>(which)];
    }
    std::vector<tutti::var<long>> accounts;
    tutti::var<long> calls{0};
    tutti::var<long> coins{0};
    std::atomic<long> waiting{0};
    std::atomic<bool> released{false};
    std::string await_at_end;  // a pipe; the destructor waits until its end
};

/// Runs transactional steps forever.
[[noreturn]] void loop_for_ever(bank& b) {
    tutti::atomically([&](tutti::tx& t) {
        for (;;) static_cast<void>(b.accounts[0].get(t));
    });
    std::abort();
}

/// Recurses forever, and reads an account in each step if there is a transaction.
[[gnu::noinline]] long dive(bank& b, tutti::tx* t, long depth) {
    volatile long kept[16] = {depth};
    if (t != nullptr) kept[1] = b.accounts[0].get(*t);
    if (depth == -1) return 0;
    return dive(b, t, depth + 1) + kept[depth % 16];
}

/// Waits until there is a coin, and takes it.
void take_coin(bank& b) {
    tutti::atomically([&](tutti::tx& t) {
        if (b.coins.get(t) == 0) tutti::retry(t);
        b.coins.set(t, b.coins.get(t) - 1);
    });
}
/// A type with a destructor but without memory, which a function without destructors would leak.
std::atomic<int> ends{0};
struct counts_its_end {
    ~counts_its_end() { ++ends; }
};
/// Take a coin in functions that are noexcept: without a local object to destroy, with one, and in a destructor.
[[gnu::noinline]] void take_plainly(bank& b) noexcept { take_coin(b); }
[[gnu::noinline]] void take_with_locals(bank& b) noexcept {
    const counts_its_end local;
    take_coin(b);
}
struct takes_at_end {
    bank& of;
    ~takes_at_end() { take_coin(of); }
};
/// Reads forever in the body of a block.
[[gnu::noinline]] void read_for_ever(bank& b, tutti::tx& t) noexcept {
    while (b.accounts[0].get(t) != -1) {}
}

}  // namespace

TUTTI_PROCEDURES(server) {
    const auto b = std::make_shared<bank>(std::stoul(server.setting("accounts", "100")));
    b->await_at_end = server.setting("await_at_end", "");
    // A pipe; loading waits until its end.
    if (const std::string await = server.setting("await", ""); !await.empty()) std::ifstream{await}.get();

    server.add("noop", {.priority = 3}, [] {});
    server.add("count", {.priority = 3}, [b] {
        return tutti::atomically([&](tutti::tx& t) {
            b->calls.set(t, b->calls.get(t) + 1);
            return b->calls.get(t);
        });
    });
    server.add("transfer", {.priority = 5, .deadline = 1s}, [b](const call& how, long from, long to, long amount) {
        tutti::atomically({.name = "transfer", .deadline = how.deadline}, [&](tutti::tx& t) {
            auto& source = b->at(from);
            if (source.get(t) < amount) tutti::cancel(t);
            source.set(t, source.get(t) - amount);
            auto& target = b->at(to);
            target.set(t, target.get(t) + amount);
        });
    });
    server.add("balance", {.priority = 4}, [b](long which) { return b->at(which).load(); });
    server.add("total", {.priority = 1}, [b] {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            long sum = 0;
            for (auto& a : b->accounts) sum += a.get(t);
            return sum;
        });
    });
    server.add("join", {}, [](const std::string& between, const std::vector<std::string>& words) {
        std::string all;
        for (const std::string& w : words) all += (all.empty() ? "" : between) + w;
        return all;
    });
    server.add("maybe", {}, [](std::optional<double> x) { return x; });
    server.add("how", {.priority = 2}, [](const call& how) { return std::pair{how.priority, how.deadline.exists()}; });
    server.add("bounded", {.max_client_priority = 3, .clients_set_deadline = false},
               [](const call& how) { return std::pair{how.priority, how.deadline.exists()}; });
    server.add("echo_two", {}, [](const std::string& one, const std::string& two) { return one + " " + two; });
    server.add("large", {}, [](std::size_t bytes) { return std::string(bytes, 'x'); });
    // Jumps out of a block that has written, and returns as if nothing had happened.
    server.add("jump_out", {}, [b] {
        std::jmp_buf target;
        if (setjmp(target) == 0) {
            tutti::atomically([&](tutti::tx& t) {
                b->coins.set(t, b->coins.get(t) + 1);
                std::longjmp(target, 1);
            });
        }
        return 1L;
    });
    // Each procedure ends its thread in a block that has written: by POSIX, by C, and by a cancellation.
    const auto write_and = [b](auto end) {
        const counts_its_end local;
        tutti::atomically([&](tutti::tx& t) {
            b->coins.set(t, b->coins.get(t) + 1);
            end();
        });
    };
    server.add("pthread_exit", {}, [write_and] { write_and([] { pthread_exit(nullptr); }); });
    server.add("thrd_exit", {}, [write_and] { write_and([] { thrd_exit(0); }); });
    server.add("pthread_cancel", {}, [write_and] {
        write_and([] {
            pthread_cancel(pthread_self());
            pthread_testcancel();
        });
    });
    server.add("ends", {}, [] { return static_cast<long>(ends.load()); });
    // Ends its thread outside a block. If `handling`, it does so while it handles another exception.
    server.add("pthread_exit_plainly", {}, [](bool handling) {
        if (!handling) pthread_exit(nullptr);
        try {
            throw 1;
        } catch (int) {
            pthread_exit(nullptr);
        }
    });
    server.add("fail", {}, [](const std::string& why) { throw std::runtime_error{why}; });
    server.add("throw_number", {}, [] { throw 42; });
    server.add("loop", {.time_limit = 50ms}, [b] { loop_for_ever(*b); });
    server.add("wait", {.time_limit = 50ms}, [b] {
        tutti::atomically([&](tutti::tx& t) {
            if (b->accounts[0].get(t) != -1) tutti::retry(t);
        });
    });
    // Two blocks with the same name.
    server.add("put", {}, [b](long coins) {
        tutti::atomically({.name = "coins"}, [&](tutti::tx& t) { b->coins.set(t, b->coins.get(t) + coins); });
    });
    // The count stays, whether or not the wait succeeds.
    server.add("take", {}, [b] {
        tutti::atomically([&](tutti::tx& t) { b->calls.set(t, b->calls.get(t) + 1); });
        tutti::atomically({.name = "coins"}, [&](tutti::tx& t) {
            if (b->coins.get(t) == 0) tutti::retry(t);
            b->coins.set(t, b->coins.get(t) - 1);
        });
    });
    for (const std::chrono::milliseconds limit : {0ms, 50ms}) {
        const std::string kind = limit == 0ms ? "take" : "wait";
        const tutti::server::procedure_options how{.time_limit = limit};
        server.add(kind + "_noexcept", how, [b]() noexcept { take_plainly(*b); });
        server.add(kind + "_noexcept_owning", how, [b] {
            const counts_its_end local;
            take_with_locals(*b);
        });
        server.add(kind + "_in_destructor", how, [b] { const takes_at_end last{*b}; });
    }
    server.add("loop_noexcept", {.time_limit = 50ms},
               [b] { tutti::atomically([&](tutti::tx& t) { read_for_ever(*b, t); }); });
    server.add("dive_noexcept", {},
               [b] { [&]() noexcept { tutti::atomically([&](tutti::tx& t) { return dive(*b, &t, 0); }); }(); });
    const auto take_anyway = [b] {
        ++b->waiting;
        tutti::atomically([&](tutti::tx& t) {
            if (b->coins.get(t) == 0) tutti::retry(t);
            b->coins.set(t, b->coins.get(t) - 1);
        });
    };
    server.add("take_anyway", {.outlives_client = true}, take_anyway);
    // Waits until the client has gone. Then takes a coin, and cancels that transaction because the client has gone.
    server.add("take_unless_gone", {}, [b](const call& how) {
        ++b->waiting;
        while (!how.abandoned()) std::this_thread::sleep_for(1ms);
        tutti::atomically([&](tutti::tx& t) {
            b->coins.set(t, b->coins.get(t) - 1);
            if (how.abandoned()) tutti::cancel(t);
        });
    });
    server.add("waiting", {}, [b] { return b->waiting.load(); });
    server.add("left", {}, [b] { return b->coins.load(); });
    server.add("counted", {}, [b] { return b->calls.load(); });
    // Endless work that only another call ends: in plain code, and in a transaction.
    server.add("hold", {.priority = 1}, [b] {
        while (!b->released.load(std::memory_order_acquire)) {}
    });
    server.add("hold_reading", {.priority = 1}, [b] {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            long sum = 0;
            while (!b->released.load(std::memory_order_acquire)) sum = b->accounts[0].get(t) + b->accounts[1].get(t);
            return sum;
        });
    });
    // Swallows its cancellation, again and again.
    server.add("ignore", {.priority = 1}, [b] {
        for (;;) {
            try {
                loop_for_ever(*b);
            } catch (...) {
                b->released.store(false, std::memory_order_release);
            }
        }
    });
    // Rarely runs code of its own.
    server.add("watch_clock", {.priority = 1}, [] {
        while (std::chrono::steady_clock::now() != std::chrono::steady_clock::time_point::max()) {}
    });
    server.add("release", {.priority = 5}, [b] { b->released.store(true, std::memory_order_release); });
    server.add("dive", {}, [b] { return dive(*b, nullptr, 0); });
    server.add("dive_reading", {}, [b] {
        return tutti::atomically([&](tutti::tx& t) {
            b->accounts[1].set(t, 0);
            return dive(*b, &t, 0);
        });
    });
    server.add("crash", {.priority = 3}, [](int signal, const std::string&) { ::raise(signal); });
    server.add("late", {.refuse_late = true}, [] {});
    // Waits until the end of a pipe.
    server.add("hold_open", {.priority = 1}, [](const std::string& pipe) { std::ifstream{pipe}.get(); });
    server.at_end([b] {
        long sum = 0;
        for (auto& a : b->accounts) sum += a.load();
        if (sum != 1000 * static_cast<long>(b->accounts.size())) throw std::runtime_error{"money was lost"};
    });
}
