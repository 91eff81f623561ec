// The timeline of all nodes: each node records its own, and the observer converts all times to its own clock.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "cluster/visit.hpp"
#include "tutti/cluster/errors.hpp"
#include "tutti/cluster/timeline.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {
namespace {

using std::chrono::milliseconds;
using wire::timeline_order;

constexpr std::size_t bytes_of_event = 64;  // the largest size of an event
constexpr std::size_t largest_answer = wire::timeline_reply::max_events * bytes_of_event;
/// The pause between two questions, so that the node accepts the second one.
constexpr milliseconds pace = 2 * wire::observer_pause;
/// The pause between two keep-alive questions. A node disconnects an observer that is silent for the node's patience.
constexpr milliseconds sign_of_life{100};
constexpr int looks = 8;

std::int64_t now_ns() { return base::real_now().time_since_epoch().count(); }

/// Another clock at one moment of ours: how far it is ahead, and by how much this difference may be wrong.
struct reading {
    std::int64_t at = 0, ahead = 0, error = 0;
};

/// A recording on one node. A stage begins on all nodes together, once the stage before has ended on all. A node that
/// waits for another one receives keep-alive questions meanwhile.
class recording final : public visit {
public:
    recording(asio::io_context& io, const observer_options& whom, const credentials& by, std::size_t number)
        : visit{io, whom, by, number}, timer_{io} {}

    void record(std::chrono::steady_clock::time_point until) {
        begin([this, until] {
            order(timeline_order::start, [this, until](const wire::timeline_reply& told) {
                if (!told.granted)
                    return end("records for another observer already, or has no memory for it; ask again");
                until_ = until;
                keep_alive();
            });
        });
    }
    void take() {
        begin([this] { take_next(); });
    }
    /// Returns true while the latest stage runs.
    [[nodiscard]] bool busy() const noexcept { return busy_ && !over(); }
    /// Ends the recording with an error if the latest stage has not ended by now.
    void close_stage() {
        if (busy()) end(overdue());
    }

    node_timeline result() && {
        result_.address = to_.text;
        result_.trouble = trouble_;
        if (!trouble_.empty()) return std::move(result_);
        result_.clock_error = std::chrono::nanoseconds{std::max(before_.error, after_.error)};
        for (timeline_event& e : result_.events) e.began_ns -= ahead_at(e.began_ns);
        return std::move(result_);
    }

private:
    void greeted() override { compare_clocks(before_); }

    /// Begins the stage, after the answer to a pending keep-alive question, if there is one.
    void begin(std::function<void()> stage) {
        busy_ = true;
        timer_.cancel();
        if (asks_) next_ = std::move(stage);
        else stage();
    }
    template <class F>
    void order(timeline_order what, F&& then) {
        asks_ = true;
        ask(wire::message_type::timeline, wire::encode(wire::timeline{what}), wire::message_type::timeline_reply,
            largest_answer, [this, then](std::string_view body) {
                asks_ = false;
                wire::timeline_reply told;
                if (!wire::decode(body, told)) return end(no_sense);
                if (next_) std::exchange(next_, nullptr)();
                else then(told);
            });
    }
    template <class F>
    void later(milliseconds by, F&& then) {
        timer_.expires_after(by);
        timer_.async_wait([this, then](asio::error_code failed) {
            if (!failed && !over() && !asks_) then();  // the timer may expire before its cancellation
        });
    }

    void take_next() {
        order(timeline_order::take, [this](wire::timeline_reply& told) {
            result_.left_out = told.left_out;
            std::ranges::move(told.events, std::back_inserter(result_.events));
            if (told.more) return take_next();
            compare_clocks(after_);
        });
    }
    void compare_clocks(reading& to) {
        left_ = looks;
        to = {};
        look(to);
    }
    void look(reading& best) {
        later(pace, [this, &best] {
            const std::int64_t asked = now_ns();
            order(timeline_order::read_clock, [this, &best, asked](const wire::timeline_reply& told) {
                const std::int64_t heard = now_ns(), error = (heard - asked) / 2, middle = asked + error;
                if (best.at == 0 || error < best.error) best = {middle, told.now_ns - middle, error};
                if (--left_ != 0) return look(best);
                until_ = {};
                keep_alive();
            });
        });
    }
    /// Asks keep-alive questions. The stage ends at `until_`.
    void keep_alive() {
        const auto left = std::chrono::ceil<milliseconds>(until_ - std::chrono::steady_clock::now());
        if (left <= milliseconds{0}) busy_ = false;
        later(busy_ ? std::min(left, sign_of_life) : sign_of_life,
              [this] { order(timeline_order::read_clock, [this](const wire::timeline_reply&) { keep_alive(); }); });
    }
    /// Returns how far the node's clock is ahead at the time `theirs`. Assumes that the clocks drift apart evenly
    /// between the two readings.
    [[nodiscard]] std::int64_t ahead_at(std::int64_t theirs) const {
        const std::int64_t first = before_.at + before_.ahead, second = after_.at + after_.ahead;
        if (second <= first) return before_.ahead;
        const double passed = static_cast<double>(theirs - first) / static_cast<double>(second - first);
        return before_.ahead + static_cast<std::int64_t>(passed * static_cast<double>(after_.ahead - before_.ahead));
    }

    asio::steady_timer timer_;
    std::chrono::steady_clock::time_point until_;
    bool busy_ = true;
    bool asks_ = false;           // a question is pending
    std::function<void()> next_;  // the stage that begins after that answer
    int left_ = 0;
    reading before_, after_;
    node_timeline result_;
};

/// Adds the attempt to each served question. Only the node that has asked knows the attempt.
void name_attempts(std::vector<node_timeline>& of) {
    std::map<std::tuple<std::size_t, std::uint64_t>, const timeline_event*> asked;
    for (std::size_t n = 0; n < of.size(); ++n) {
        for (const timeline_event& e : of[n].events) {
            if (e.role == timeline_role::asks && e.question != 0) asked.emplace(std::tuple{n, e.question}, &e);
        }
    }
    for (node_timeline& server : of) {
        for (timeline_event& e : server.events) {
            if (e.role != timeline_role::serves || e.question == 0) continue;
            if (const auto by = asked.find({e.node, e.question}); by != asked.end()) e.sequence = by->second->sequence;
        }
    }
}

}  // namespace

std::vector<node_timeline> record_nodes(const observer_options& whom, milliseconds how_long) try {
    const credentials by{whom};
    asio::io_context io{1};
    std::deque<recording> all;
    for (std::size_t i = 0; i < whom.addresses.size(); ++i) all.emplace_back(io, whom, by, i);
    const auto stage = [&](milliseconds limit, auto&& begin) {
        for (recording& r : all) {
            if (!r.over()) begin(r);
        }
        const auto late = std::chrono::steady_clock::now() + limit;
        while (std::ranges::any_of(all, &recording::busy) && io.run_one_until(late) != 0) continue;
        for (recording& r : all) r.close_stage();
    };
    stage(whom.within + looks * pace, [](recording& r) { r.start(); });
    const auto until = std::chrono::steady_clock::now() + how_long;
    stage(whom.within + how_long, [&](recording& r) { r.record(until); });
    stage(whom.within + looks * pace, [](recording& r) { r.take(); });
    std::vector<node_timeline> results;
    for (recording& r : all) results.push_back(std::move(r).result());
    name_attempts(results);
    return results;
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

}  // namespace tutti::cluster
