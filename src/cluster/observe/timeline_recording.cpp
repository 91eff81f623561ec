// The timeline of all nodes. Each node records its own timeline, and the observer converts all times to the observer's
// clock.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "cluster/observe/observer_connection.hpp"
#include "tutti/cluster/errors.hpp"
#include "tutti/cluster/timeline.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {
namespace {

using std::chrono::milliseconds;
using wire::timeline_order;

constexpr std::size_t bytes_of_event = 64;  // the largest size of an event
constexpr std::size_t max_timeline_bytes = wire::timeline_reply::max_events * bytes_of_event;
/// The pause between two queries. A node defers a query that arrives earlier, and the delay would distort the
/// comparison of the clocks.
constexpr milliseconds query_pause = 2 * wire::observer_pause;
/// The pause between two keep-alive queries. A node disconnects an observer that is silent for the node's failure
/// timeout.
constexpr milliseconds keep_alive_pause{100};
constexpr int clock_readings = 8;

std::int64_t now_ns() { return base::real_now().time_since_epoch().count(); }

/// A comparison of the node's clock with this process's clock: how far the node's clock is ahead, and the possible
/// error.
struct clock_reading {
    std::int64_t at = 0, ahead = 0, error = 0;
};

/// A recording on one node. A stage begins on all nodes together, once the previous stage has ended on all nodes. While
/// a node waits for other nodes, it receives keep-alive queries.
class recording final : public observer_connection {
public:
    recording(asio::io_context& io, const observer_options& options, const credentials& by, std::size_t number)
        : observer_connection{io, options, by, number}, timer_{io} {}

    void record(std::chrono::steady_clock::time_point until) {
        begin([this, until] {
            query(timeline_order::start, [this, until](const wire::timeline_reply& reply) {
                if (!reply.granted)
                    return end("records for another observer already, or has no memory for it; ask again");
                stage_end_ = until;
                keep_alive();
            });
        });
    }
    void fetch() {
        begin([this] { fetch_next(); });
    }
    /// Returns true while the latest stage runs.
    [[nodiscard]] bool is_busy() const noexcept { return busy_ && !has_ended(); }
    /// Ends the recording with an error if the latest stage has not ended by now.
    void close_stage() {
        if (is_busy()) end(timeout_reason());
    }

    node_timeline result() && {
        result_.address = address_.text;
        result_.error = error_;
        if (!error_.empty()) return std::move(result_);
        result_.clock_error = std::chrono::nanoseconds{std::max(before_.error, after_.error)};
        for (timeline_event& e : result_.events) e.began_ns -= ahead_at(e.began_ns);
        return std::move(result_);
    }

private:
    void on_hello() override { compare_clocks(before_); }

    /// Begins the stage. If a keep-alive query is pending, begins after its answer.
    void begin(std::function<void()> stage) {
        busy_ = true;
        timer_.cancel();
        if (query_pending_) next_stage_ = std::move(stage);
        else stage();
    }
    template <class F>
    void query(timeline_order what, F&& then) {
        query_pending_ = true;
        send_query(wire::message_type::timeline, wire::encode(wire::timeline{what}), wire::message_type::timeline_reply,
                   max_timeline_bytes, [this, then](std::string_view body) {
                       query_pending_ = false;
                       wire::timeline_reply reply;
                       if (!wire::decode(body, reply)) return end(malformed_answer);
                       if (next_stage_) std::exchange(next_stage_, nullptr)();
                       else then(reply);
                   });
    }
    template <class F>
    void run_after(milliseconds by, F&& then) {
        timer_.expires_after(by);
        timer_.async_wait([this, then](asio::error_code failed) {
            if (!failed && !has_ended() && !query_pending_) then();  // the timer may expire before its cancellation
        });
    }

    void fetch_next() {
        query(timeline_order::take, [this](wire::timeline_reply& reply) {
            result_.left_out = reply.left_out;
            std::ranges::move(reply.events, std::back_inserter(result_.events));
            if (reply.more) return fetch_next();
            compare_clocks(after_);
        });
    }
    void compare_clocks(clock_reading& to) {
        readings_left_ = clock_readings;
        to = {};
        read_clock(to);
    }
    void read_clock(clock_reading& best) {
        run_after(query_pause, [this, &best] {
            const std::int64_t asked = now_ns();
            query(timeline_order::read_clock, [this, &best, asked](const wire::timeline_reply& reply) {
                const std::int64_t answered = now_ns(), error = (answered - asked) / 2, middle = asked + error;
                if (best.at == 0 || error < best.error) best = {middle, reply.now_ns - middle, error};
                if (--readings_left_ != 0) return read_clock(best);
                stage_end_ = {};
                keep_alive();
            });
        });
    }
    /// Sends keep-alive queries. The stage ends at `stage_end_`.
    void keep_alive() {
        const auto left = std::chrono::ceil<milliseconds>(stage_end_ - std::chrono::steady_clock::now());
        if (left <= milliseconds{0}) busy_ = false;
        run_after(busy_ ? std::min(left, keep_alive_pause) : keep_alive_pause,
                  [this] { query(timeline_order::read_clock, [this](const wire::timeline_reply&) { keep_alive(); }); });
    }
    /// Returns how far the node's clock is ahead when it shows `theirs`. Assumes that the clocks drift apart evenly
    /// between the two readings.
    [[nodiscard]] std::int64_t ahead_at(std::int64_t theirs) const {
        const std::int64_t first = before_.at + before_.ahead, second = after_.at + after_.ahead;
        if (second <= first) return before_.ahead;
        const double passed = static_cast<double>(theirs - first) / static_cast<double>(second - first);
        return before_.ahead + static_cast<std::int64_t>(passed * static_cast<double>(after_.ahead - before_.ahead));
    }

    asio::steady_timer timer_;
    std::chrono::steady_clock::time_point stage_end_;
    bool busy_ = true;
    bool query_pending_ = false;        // a query is pending
    std::function<void()> next_stage_;  // the stage that begins after the answer to the pending query
    int readings_left_ = 0;
    clock_reading before_, after_;
    node_timeline result_;
};

/// Adds the attempt to each query that a node has served. Only the timeline of the node that sent the query names
/// the query's attempt.
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

std::vector<node_timeline> record_nodes(const observer_options& options, milliseconds how_long) try {
    const credentials by{options};
    asio::io_context io{1};
    std::deque<recording> all;
    for (std::size_t i = 0; i < options.addresses.size(); ++i) all.emplace_back(io, options, by, i);
    const auto stage = [&](milliseconds limit, auto&& begin) {
        for (recording& r : all) {
            if (!r.has_ended()) begin(r);
        }
        const auto deadline = std::chrono::steady_clock::now() + limit;
        while (std::ranges::any_of(all, &recording::is_busy) && io.run_one_until(deadline) != 0) continue;
        for (recording& r : all) r.close_stage();
    };
    stage(options.timeout + clock_readings * query_pause, [](recording& r) { r.start(); });
    const auto until = std::chrono::steady_clock::now() + how_long;
    stage(options.timeout + how_long, [&](recording& r) { r.record(until); });
    stage(options.timeout + clock_readings * query_pause, [](recording& r) { r.fetch(); });
    std::vector<node_timeline> results;
    for (recording& r : all) results.push_back(std::move(r).result());
    name_attempts(results);
    return results;
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

}  // namespace tutti::cluster
