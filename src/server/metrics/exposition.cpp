#include "server/metrics/exposition.hpp"

#include <limits>
#include <utility>

#include "exposition/process.hpp"
#include "observe/histogram.hpp"

namespace tutti::server {
namespace {

using exposition::family;
using exposition::labels;
using exposition::metric;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily single(std::string name, std::string help, MetricType type, std::uint64_t value) {
    return exposition::single(std::move(name), std::move(help), type, static_cast<double>(value));
}

/// The page shows only every eighth bucket, from 128 us to 8 s. With all buckets, a page for twelve procedures took 130
/// KB. INFO and `tutti top` compute percentiles from all buckets.
constexpr std::size_t first_shown = 13, shown_apart = 8;

constexpr bool is_shown(std::size_t bucket) {
    return bucket >= first_shown && (bucket - first_shown) % shown_apart == 0;
}

ClientMetric histogram(labels of, const turnaround_sum& sum) {
    ClientMetric m;
    m.label = std::move(of);
    for (std::size_t b = 0; b < bucket_count; ++b) {
        m.histogram.sample_count += sum.buckets[b];
        const bool last = b + 1 == bucket_count;
        if (!last && !is_shown(b)) continue;
        const double limit = static_cast<double>(bucket_limit(b)) * 1e-6;
        m.histogram.bucket.push_back(
            {m.histogram.sample_count, last ? std::numeric_limits<double>::infinity() : limit});
    }
    m.histogram.sample_sum = static_cast<double>(sum.microseconds) * 1e-6;
    return m;
}

constexpr bool is_usual(call_outcome e) {
    switch (e) {
        case call_outcome::ok:
        case call_outcome::busy:
        case call_outcome::deadline:
        case call_outcome::exception:
        case call_outcome::timeout: return true;
        default: return false;
    }
}

constexpr bool is_usual(abort_cause c) {
    switch (c) {
        case abort_cause::conflict_read_locked:
        case abort_cause::validation:
        case abort_cause::killed: return true;
        default: return false;
    }
}

// Counters that are still zero are included, so that a rate over such a counter has a first value. Unusual endings and
// causes, and the series for priorities other than the procedure's own, appear only after their first occurrence.

void add_procedures(std::vector<MetricFamily>& to, const server_statistics& s) {
    MetricFamily turnaround =
        family("tutti_turnaround_seconds", "Time from the arrival of a call to its answer", MetricType::Histogram);
    MetricFamily ended = family("tutti_calls_total", "Calls by outcome", MetricType::Counter);
    for (const server_statistics::procedure_statistics& p : s.procedures) {
        // Shows at most two series, regardless of the priorities that clients choose: one for the procedure's own
        // priority, and one for all other priorities together.
        turnaround_sum own, chosen;
        for (const auto& [priority, sum] : p.priorities) add(priority == p.own_priority ? own : chosen, sum);
        turnaround.metric.push_back(
            histogram({{"procedure", p.name}, {"priority", std::to_string(p.own_priority)}}, own));
        if (observe::count_of(chosen.buckets) != 0)
            turnaround.metric.push_back(histogram({{"procedure", p.name}, {"priority", "other"}}, chosen));
        for (std::size_t e = 0; e < call_outcome_count; ++e) {
            if (p.outcomes[e] == 0 && !is_usual(static_cast<call_outcome>(e))) continue;
            ended.metric.push_back(
                metric({{"procedure", p.name}, {"outcome", std::string{code_of(static_cast<call_outcome>(e))}}},
                       static_cast<double>(p.outcomes[e]), MetricType::Counter));
        }
    }
    to.push_back(std::move(turnaround));
    to.push_back(std::move(ended));
}

void add_blocks(std::vector<MetricFamily>& to, const server_statistics& s) {
    MetricFamily commits = family("tutti_commits_total", "Committed transactions by block", MetricType::Counter);
    MetricFamily aborts = family("tutti_aborts_total", "Attempts rolled back, by block and cause", MetricType::Counter);
    for (const auto& [name, block] : s.blocks) {
        commits.metric.push_back(metric({{"block", name}}, static_cast<double>(block.commits), MetricType::Counter));
        for (std::size_t c = 1; c < abort_cause_count; ++c) {
            if (block.aborts[c] == 0 && !is_usual(static_cast<abort_cause>(c))) continue;
            aborts.metric.push_back(
                metric({{"block", name}, {"cause", std::string{name_of(static_cast<abort_cause>(c))}}},
                       static_cast<double>(block.aborts[c]), MetricType::Counter));
        }
    }
    to.push_back(std::move(commits));
    to.push_back(std::move(aborts));
}

void add_replication(std::vector<MetricFamily>& to, const journal::replication_statistics& f) {
    to.push_back(
        single("tutti_is_leader", "1 if the server leads, 0 if it follows", MetricType::Gauge, f.leads ? 1 : 0));
    to.push_back(single("tutti_accepts_writes", "0 if the server refuses calls that write, because it does not lead",
                        MetricType::Gauge, f.refuses.empty() ? 1 : 0));
    to.push_back(single("tutti_log_position", "The first position of the log that is not on disk", MetricType::Gauge,
                        f.position));
    if (f.link) {
        to.push_back(single("tutti_leader_connected", "1 while the leader answers", MetricType::Gauge,
                            f.link->is_connected ? 1 : 0));
        if (f.link->behind_bytes) {
            to.push_back(single("tutti_replication_lag_bytes",
                                "Bytes of the leader's log that this server has not yet replayed", MetricType::Gauge,
                                *f.link->behind_bytes));
        }
    }
    if (!f.leads) return;
    to.push_back(single("tutti_replication_timeouts_total",
                        "Calls that reached their timeout while waiting for followers", MetricType::Counter,
                        f.replication_timeouts));
    MetricFamily connected = family("tutti_follower_connected", "1 while the follower is connected", MetricType::Gauge);
    MetricFamily records = family("tutti_follower_lag_records", "Calls that a follower lacks", MetricType::Gauge);
    MetricFamily bytes =
        family("tutti_follower_lag_bytes", "Bytes of the log that a follower lacks", MetricType::Gauge);
    for (const auto& one : f.followers) {
        const labels of{{"follower", one.address}};
        connected.metric.push_back(metric(of, one.connected ? 1 : 0, MetricType::Gauge));
        records.metric.push_back(metric(of, static_cast<double>(one.behind), MetricType::Gauge));
        bytes.metric.push_back(metric(of, static_cast<double>(one.behind_bytes), MetricType::Gauge));
    }
    to.push_back(std::move(connected));
    to.push_back(std::move(records));
    to.push_back(std::move(bytes));
}

void add_snapshots(std::vector<MetricFamily>& to, const journal::snapshot_statistics& f) {
    const auto seconds = [](std::chrono::microseconds time) { return std::chrono::duration<double>{time}.count(); };
    to.push_back(
        single("tutti_log_snapshots_total", "Snapshots of the log that were stored", MetricType::Counter, f.stored));
    to.push_back(
        single("tutti_log_snapshots_failed_total", "Snapshots of the log that failed", MetricType::Counter, f.failed));
    to.push_back(single("tutti_log_snapshot_in_progress", "1 while a snapshot of the log is written", MetricType::Gauge,
                        f.in_progress ? 1 : 0));
    to.push_back(exposition::single("tutti_log_snapshot_seconds", "Duration of the latest snapshot, finished or not",
                                    MetricType::Gauge, seconds(f.duration)));
    to.push_back(exposition::single("tutti_log_snapshot_pause_seconds",
                                    "Time for which the latest snapshot stopped calls", MetricType::Gauge,
                                    seconds(f.pause)));
    to.push_back(single("tutti_log_snapshot_copied_bytes",
                        "Memory that was copied for the process that wrote the latest snapshot", MetricType::Gauge,
                        f.copied_bytes));
}

}  // namespace

std::vector<MetricFamily> families_of(const server_statistics& s) {
    std::vector<MetricFamily> all;
    add_procedures(all, s);
    add_blocks(all, s);
    MetricFamily waiting = family("tutti_queued_calls", "Calls that wait for a worker", MetricType::Gauge);
    MetricFamily shed = family("tutti_shed_calls_total", "Accepted calls answered BUSY in favor of more urgent ones",
                               MetricType::Counter);
    for (std::size_t p = 0; p < priority_levels; ++p) {
        const labels of{{"priority", std::to_string(p)}};
        waiting.metric.push_back(metric(of, static_cast<double>(s.busy.queued[p]), MetricType::Gauge));
        shed.metric.push_back(metric(of, static_cast<double>(s.busy.shed[p]), MetricType::Counter));
    }
    all.push_back(std::move(waiting));
    all.push_back(std::move(shed));
    all.push_back(single("tutti_running_calls", "Calls that are running", MetricType::Gauge, s.busy.running));
    all.push_back(single("tutti_preempted_calls", "Calls that were preempted and are ready to run", MetricType::Gauge,
                         s.busy.preempted));
    all.push_back(single("tutti_parked_calls", "Calls that wait for another transaction or in retry", MetricType::Gauge,
                         s.busy.parked));
    all.push_back(single("tutti_preemptions_total", "Preemptions of calls by calls of a higher priority",
                         MetricType::Counter, s.busy.preemptions));
    all.push_back(single("tutti_priority_boosts_total", "Priority boosts of preempted calls", MetricType::Counter,
                         s.busy.priority_boosts));
    all.push_back(single("tutti_parkings_total", "Times that a waiting call released its worker", MetricType::Counter,
                         s.busy.parkings));
    all.push_back(single("tutti_priority_inheritances_total",
                         "Times that a call inherited the priority of a call that waits for it", MetricType::Counter,
                         s.busy.priority_inheritances));
    all.push_back(single("tutti_ticks_by_signal_total", "Ticks of workers delivered by signals", MetricType::Counter,
                         s.busy.ticks_by_signal));
    all.push_back(single("tutti_ticks_by_kernel_total", "Ticks of workers delivered by the kernel module",
                         MetricType::Counter, s.busy.ticks_by_kernel));
    all.push_back(single("tutti_ticks_deferred_total", "Ticks of workers deferred to the end of a critical region",
                         MetricType::Counter, s.busy.ticks_deferred));
    all.push_back(single("tutti_clients", "Connected clients", MetricType::Gauge, s.clients));
    all.push_back(
        single("tutti_clients_total", "Connections received", MetricType::Counter, s.total_connections_received));
    all.push_back(single("tutti_rejected_connections_total",
                         "Connections rejected because of the maximum number of clients", MetricType::Counter,
                         s.rejected_connections));
    all.push_back(single("tutti_logins_failed_total", "Logins with a wrong name or password", MetricType::Counter,
                         s.logins_failed));
    all.push_back(single("tutti_logins_rejected_total", "Logins rejected because too many waited for their check",
                         MetricType::Counter, s.logins_rejected));
    MetricFamily closed =
        family("tutti_clients_closed_total", "Clients that the server closed, by reason", MetricType::Counter);
    for (const auto& [reason, count] : {std::pair{"memory", s.clients_evicted},
                                        {"displaced", s.clients_displaced},
                                        {"unfinished_request", s.requests_timed_out}})
        closed.metric.push_back(metric({{"reason", reason}}, static_cast<double>(count), MetricType::Counter));
    all.push_back(std::move(closed));
    all.push_back(single("tutti_calls_beyond_share_total",
                         "Calls answered BUSY because the calls of their user filled its share of memory",
                         MetricType::Counter, s.calls_beyond_share));
    all.push_back(single("tutti_commands_delayed_total", "Commands delayed because their user exceeded its share",
                         MetricType::Counter, s.commands_delayed));
    all.push_back(single("tutti_io_handoffs_total", "Times that an idle worker took over an I/O thread's connections",
                         MetricType::Counter, s.io_handoffs));
    all.push_back(single("tutti_io_handoffs_reclaimed_total",
                         "Handoffs to workers that the I/O thread ended because a call ran long", MetricType::Counter,
                         s.io_handoffs_reclaimed));
    all.push_back(single("tutti_malformed_requests_total", "Malformed requests, each of which closed its connection",
                         MetricType::Counter, s.malformed));
    exposition::add_process(all, TUTTI_SERVER_VERSION, "server");
    if (s.log) {
        all.push_back(single("tutti_log_pending_bytes", "Bytes of the log not yet written", MetricType::Gauge,
                             s.log->pending_bytes));
        all.push_back(single("tutti_log_error", "1 while the log cannot be written and calls are refused",
                             MetricType::Gauge, s.log->error.empty() ? 0 : 1));
        add_snapshots(all, s.log->snapshots);
    }
    if (s.replication) add_replication(all, *s.replication);
    all.push_back(single("tutti_buffered_bytes", "Bytes of requests and answers", MetricType::Gauge, s.buffered_bytes));
    all.push_back(single("tutti_buffered_bytes_of_calls", "Bytes of arguments of accepted calls", MetricType::Gauge,
                         s.buffered_bytes_of_calls));
    all.push_back(single("tutti_buffered_bytes_of_clients", "Bytes of requests and answers that connections hold",
                         MetricType::Gauge, s.buffered_bytes_of_clients));
    all.push_back(
        single("tutti_read_bytes_total", "Bytes that clients have sent", MetricType::Counter, s.total_net_input_bytes));
    all.push_back(
        single("tutti_written_bytes_total", "Bytes of answers", MetricType::Counter, s.total_net_output_bytes));
    return all;
}

}  // namespace tutti::server
