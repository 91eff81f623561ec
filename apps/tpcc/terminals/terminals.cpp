#include "tpcc/terminals/terminals.hpp"

#include <hiredis/hiredis.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>

#include "tpcc/deck.hpp"
#include "tpcc/load/calls.hpp"

namespace tpcc::terminals {
namespace {

using clock = std::chrono::steady_clock;
using instant = clock::time_point;

constexpr std::chrono::milliseconds rest{10};       // pause after an error
constexpr std::chrono::seconds reply_timeout{60};   // time to wait for replies after the end
constexpr const char* unknown_outcome = "INDOUBT";  // the servers' error code

struct terminal {
    terminal(const load::address& server, warehouse_id home, district_id at)
        : wire{std::in_place, server.host, server.port}, warehouse{home}, district{at}, cards{standard_mix} {}

    std::optional<load::connection> wire;  // without value: its server is unreachable
    warehouse_id warehouse;
    district_id district;
    deck cards;
    profile asked{};
    bool waits = false;  // for a reply
    instant sent;
    instant rests_until;
};

class terminal_group {
public:
    terminal_group(const plan& how, const load::served_scale& of)
        : how_{how},
          calls_{of, districts_per_warehouse, how.seed},
          random_{derive_seed(how.seed, purpose::worker, 3)},
          poll_{::epoll_create1(EPOLL_CLOEXEC)} {
        if (poll_ < 0) throw std::runtime_error{"epoll is not available"};
        found_.warehouses.resize(static_cast<std::size_t>(of.warehouses));
        std::size_t next = 0;
        for (warehouse_id w = 1; w <= of.warehouses; ++w) {
            for (int i = 0; i < how.of_warehouse; ++i, ++next) {
                const std::size_t server =
                    how.nearest.empty() ? next % how.servers.size() : how.nearest[static_cast<std::size_t>(w - 1)];
                terminal& t = all_.emplace_back(how.servers[server], w, 1 + i % districts_per_warehouse);
                epoll_event what{.events = EPOLLIN, .data = {.ptr = &t}};
                ::epoll_ctl(poll_, EPOLL_CTL_ADD, t.wire->descriptor(), &what);
            }
        }
    }
    ~terminal_group() { ::close(poll_); }
    terminal_group(const terminal_group&) = delete;
    terminal_group& operator=(const terminal_group&) = delete;

    result run_all() {
        const instant begin = clock::now();
        const instant end =
            begin + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{how_.seconds});
        for (instant now = begin; now < end && lives(); now = clock::now()) {
            for (terminal& t : all_) {
                if (t.wire && !t.waits && t.rests_until <= now) send(t);
            }
            take(std::min(end, clock::now() + rest));
        }
        found_.seconds = std::chrono::duration<double>(clock::now() - begin).count();
        for (const instant last = clock::now() + reply_timeout; waits() && clock::now() < last;)
            take(clock::now() + rest);
        for (terminal& t : all_) {
            if (!t.waits) continue;
            ++found_.unanswered;
            doubt(t);
        }
        return std::move(found_);
    }

private:
    [[nodiscard]] bool lives() const {
        return std::ranges::any_of(all_, [](const terminal& t) { return t.wire.has_value(); });
    }
    [[nodiscard]] bool waits() const {
        return std::ranges::any_of(all_, [](const terminal& t) { return t.waits; });
    }

    void send(terminal& t) {
        t.asked = t.cards.draw(random_);
        calls_.append(t.wire->unsent(), t.asked, t.warehouse, t.district);
        t.sent = clock::now();
        t.waits = true;
        with_server(t, [&] { t.wire->flush(); });
    }

    void take(instant until) {
        const auto left = std::max(until - clock::now(), clock::duration::zero());
        epoll_event ready[64];
        const int n = ::epoll_wait(poll_, ready, 64,
                                   static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
        for (int i = 0; i < n; ++i) {
            terminal& t = *static_cast<terminal*>(ready[i].data.ptr);
            with_server(t, [&] {
                t.wire->receive();
                if (const load::answer got = t.wire->next()) count(t, *got);
                if (t.waits) t.wire->flush();
            });
        }
    }

    /// Runs `f` on the connection. If the connection has failed, the terminal ends.
    template <class F>
    void with_server(terminal& t, F&& f) {
        try {
            f();
        } catch (const std::runtime_error&) {
            ++found_.servers_gone;
            if (t.waits) {
                ++statistics_of(t).errors["gone"];
                doubt(t);
            }
            t.waits = false;
            t.wire.reset();
        }
    }

    [[nodiscard]] call_statistics& statistics_of(const terminal& t) {
        return found_.profiles[static_cast<std::size_t>(t.asked)];
    }
    [[nodiscard]] ledger& ledger_of(const terminal& t) {
        return found_.warehouses[static_cast<std::size_t>(t.warehouse - 1)];
    }
    /// Records that the terminal cannot know whether its call has had an effect.
    void doubt(const terminal& t) {
        if (t.asked == profile::new_order) ++ledger_of(t).unknown_orders;
        if (t.asked == profile::payment) ++ledger_of(t).unknown_payments;
    }

    void count(terminal& t, const redisReply& got) {
        if (!t.waits) throw std::runtime_error{"a server has sent a reply without a call"};
        const instant now = clock::now();
        t.waits = false;
        call_statistics& all = statistics_of(t);
        if (got.type == REDIS_REPLY_ERROR) {
            const std::string_view text{got.str};
            const std::string code{text.substr(0, text.find(' '))};
            ++all.errors[code];
            if (code == unknown_outcome) doubt(t);
            t.rests_until = now + rest;
            return;
        }
        const auto took = static_cast<std::uint64_t>((now - t.sent).count());
        ++all.answered;
        all.nanoseconds += took;
        all.turnaround.add(took);
        if (t.asked == profile::payment) ++ledger_of(t).payments;
        if (t.asked == profile::new_order) ++(got.type == REDIS_REPLY_NIL ? all.rolled_back : ledger_of(t).orders);
    }

    const plan& how_;
    load::call_source calls_;
    random_source random_;
    const int poll_;
    std::deque<terminal> all_;
    result found_;
};

}  // namespace

result run(const plan& how, const load::served_scale& of) { return terminal_group{how, of}.run_all(); }

}  // namespace tpcc::terminals
