#include "tpcc/load/generator.hpp"

#include <hiredis/hiredis.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

#include "tpcc/load/connection.hpp"

namespace tpcc::load {
namespace {

using clock = std::chrono::steady_clock;
using instant = clock::time_point;

clock::duration seconds(double s) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{s});
}

/// A connection, and the times when its pending calls were due.
struct lane {
    lane(const load_settings& to, profile p) : wire{to.server.host, to.server.port}, serves{p} {}
    connection wire;
    profile serves;
    std::deque<instant> due;
};

class generator {
public:
    explicit generator(const load_settings& how) : how_{how}, calls_{ask_scale(how.server), how.districts, how.seed} {
        ::prctl(PR_SET_TIMERSLACK, 1UL);
        if (poll_ < 0) throw std::runtime_error{"epoll is not available"};
        for (std::size_t p = 0; p < profile_count; ++p) {
            for (unsigned i = 0; i < how.connections; ++i) {
                lane& l = lanes_.emplace_back(how, static_cast<profile>(p));
                of_[p].push_back(&l);
                epoll_event what{.events = EPOLLIN, .data = {.ptr = &l}};
                ::epoll_ctl(poll_, EPOLL_CTL_ADD, l.wire.descriptor(), &what);
            }
        }
    }
    ~generator() { ::close(poll_); }
    generator(const generator&) = delete;
    generator& operator=(const generator&) = delete;

    load_result run() {
        const std::vector<long> before = attempts();
        start_ = clock::now();
        measured_from_ = start_ + seconds(how_.warm_up);
        end_ = measured_from_ + seconds(how_.seconds);
        instant next = start_;
        for (unsigned i = 0; i < how_.closed; ++i) send(start_);
        for (instant now = start_; now < end_; now = clock::now()) {
            if (how_.closed == 0) {
                for (; next <= now; next += seconds(calls_.draw_gap(how_.rate))) send(next);
            }
            flush();
            take(how_.closed == 0 ? std::min(next, end_) : end_);
        }
        while (under_way_ != 0) {
            flush();
            take(clock::now() + seconds(1));
        }
        const std::vector<long> after = attempts();
        result_.seconds = how_.seconds;
        for (std::size_t p = 0; p < profile_count; ++p) {
            result_.profiles[p].executions = static_cast<std::uint64_t>(after[2 * p] - before[2 * p]);
            result_.profiles[p].restarts = static_cast<std::uint64_t>(after[2 * p + 1] - before[2 * p + 1]);
        }
        return result_;
    }

private:
    [[nodiscard]] std::vector<long> attempts() const {
        return ask_numbers(how_.server, {"CALL", "attempts"}, 2 * profile_count);
    }

    void send(instant due) {
        const profile p = calls_.draw_profile();
        const auto& mine = of_[static_cast<std::size_t>(p)];
        lane& l = **std::ranges::min_element(mine, {}, [](const lane* x) { return x->due.size(); });
        calls_.append(l.wire.unsent(), p);
        l.due.push_back(due);
        ++under_way_;
        if (due >= measured_from_) ++result_.profiles[static_cast<std::size_t>(p)].sent;
    }

    void flush() {
        for (lane& l : lanes_) l.wire.flush();
    }

    /// Receives the replies that arrive until then.
    void take(instant until) {
        const auto left = std::max(until - clock::now(), clock::duration::zero());
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
        const timespec timeout{static_cast<time_t>(whole.count()), static_cast<long>((left - whole).count())};
        epoll_event ready[64];
        const int n = ::epoll_pwait2(poll_, ready, 64, &timeout, nullptr);
        for (int i = 0; i < n; ++i) {
            lane& l = *static_cast<lane*>(ready[i].data.ptr);
            l.wire.receive();
            while (const answer got = l.wire.next()) count(l, *got);
            l.wire.flush();
        }
    }

    void count(lane& l, const redisReply& got) {
        const instant now = clock::now();
        const instant due = l.due.front();
        l.due.pop_front();
        --under_way_;
        const bool error = got.type == REDIS_REPLY_ERROR;
        if (now >= measured_from_ && now < end_ && !error) ++result_.answered_in_time;
        if (how_.closed != 0 && now < end_) send(now);
        if (error && !std::string_view{got.str}.starts_with("BUSY") && result_.first_failure.empty())
            result_.first_failure = got.str;
        if (due < measured_from_) return;
        load_statistics& t = result_.profiles[static_cast<std::size_t>(l.serves)];
        if (error) {
            ++(std::string_view{got.str}.starts_with("BUSY") ? t.refused : t.failed);
            return;
        }
        const auto took = static_cast<std::uint64_t>((now - due).count());
        ++t.answered;
        t.nanoseconds += took;
        t.turnaround.add(took);
    }

    const load_settings how_;
    call_source calls_;
    const int poll_ = ::epoll_create1(EPOLL_CLOEXEC);
    std::deque<lane> lanes_;
    std::array<std::vector<lane*>, profile_count> of_;
    std::size_t under_way_ = 0;
    instant start_, measured_from_, end_;
    load_result result_;
};

}  // namespace

load_result generate_load(const load_settings& how) { return generator{how}.run(); }

}  // namespace tpcc::load
