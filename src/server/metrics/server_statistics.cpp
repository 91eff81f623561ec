#include "server/metrics/server_statistics.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "observe/histogram.hpp"
#include "tutti/statistics.hpp"

namespace tutti::server {

void add(turnaround_sum& to, const turnaround_sum& more) noexcept {
    for (std::size_t b = 0; b < bucket_count; ++b) to.buckets[b] += more.buckets[b];
    to.microseconds += more.microseconds;
}

void add(server_statistics& to, const counters& from) {
    to.clients += from.clients.get();
    to.total_connections_received += from.total_connections_received.get();
    to.rejected_connections += from.rejected_connections.get();
    to.logins_failed += from.logins_failed.get();
    to.logins_rejected += from.logins_rejected.get();
    to.clients_evicted += from.clients_evicted.get();
    to.clients_displaced += from.clients_displaced.get();
    to.requests_timed_out += from.requests_timed_out.get();
    to.commands_delayed += from.commands_delayed.get();
    to.calls_beyond_share += from.calls_beyond_share.get();
    to.commands += from.commands.get();
    to.io_handoffs += from.io_handoffs.get();
    to.io_handoffs_reclaimed += from.io_handoffs_reclaimed.get();
    to.malformed += from.malformed.get();
    to.total_net_input_bytes += from.total_net_input_bytes.get();
    to.total_net_output_bytes += from.total_net_output_bytes.get();
    for (std::size_t n = 0; n < to.procedures.size(); ++n) {
        server_statistics::procedure_statistics& p = to.procedures[n];
        for (std::size_t e = 0; e < call_outcome_count; ++e)
            p.outcomes[e] += from.outcomes(n, static_cast<call_outcome>(e));
        for (std::size_t level = 0; level < priority_levels; ++level) {
            turnaround_sum sum;
            from.add_to(sum, n, level);
            if (observe::count_of(sum.buckets) == 0) continue;
            const auto same = [&](const server_statistics::priority_statistics& q) {
                return q.priority == static_cast<int>(level);
            };
            const auto found = std::ranges::find_if(p.priorities, same);
            if (found == p.priorities.end()) {
                p.priorities.push_back({static_cast<int>(level), sum});
                continue;
            }
            add(found->turnaround, sum);
        }
    }
}

void add_transactions(server_statistics& to) {
    for (const site_statistics& site : statistics()) {
        const std::string name = !site.name.empty() ? site.name : site.file + ":" + std::to_string(site.line);
        server_statistics::block_statistics& block = to.blocks[name];
        block.commits += site.commits;
        for (std::size_t c = 0; c < abort_cause_count; ++c) block.aborts[c] += site.aborts_by_cause[c];
    }
}

std::uint64_t resident_bytes() {
    std::ifstream from{"/proc/self/statm"};
    std::uint64_t all = 0, resident = 0;
    if (!(from >> all >> resident)) return 0;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

namespace {

void add_snapshots(std::string& text, const journal::snapshot_statistics& f) {
    const auto line = [&](std::string_view name, auto number) {
        text.append(name).append(":").append(std::to_string(number)).append("\r\n");
    };
    line("log_snapshots", f.stored);
    line("log_snapshots_failed", f.failed);
    line("log_snapshot_in_progress", f.in_progress ? 1 : 0);
    line("log_snapshot_ms", std::chrono::duration_cast<std::chrono::milliseconds>(f.duration).count());
    line("log_snapshot_pause_us", f.pause.count());
    line("log_snapshot_longest_pause_us", f.max_pause.count());
    line("log_snapshot_bytes", f.bytes);
    line("log_snapshot_copied_bytes", f.copied_bytes);
    text.append("log_snapshot_failure:").append(f.failure).append("\r\n");
}

void add_replication(std::string& text, const journal::replication_statistics& f) {
    const auto line = [&](const std::string& key, const auto& value) {
        text.append(key).append(":");
        if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) text.append(std::to_string(value));
        else text.append(value);
        text.append("\r\n");
    };
    text.append("\r\n# replication\r\n");
    line("role", std::string{f.leads ? "leader" : "follower"});
    line("accepts_writes", f.refuses.empty() ? 1U : 0U);
    if (f.leads && !f.refuses.empty()) line("refuses", f.refuses);
    line("term", f.link ? f.link->term : f.epoch.term);
    line("log_position", f.position);
    if (f.link) {
        line("leader", f.leader);
        line("leader_connected", f.link->is_connected ? 1U : 0U);
        line("leader_link_error", f.link->error);
        line("leader_last_io_ms", f.link->silent.count());
        line("lag_bytes", f.link->behind_bytes ? std::to_string(*f.link->behind_bytes) : std::string{"unknown"});
    }
    if (!f.leads) return;
    line("handover", f.handover);
    line("replication_timeouts", f.replication_timeouts);
    line("followers", f.followers.size());
    for (std::size_t i = 0; i < f.followers.size(); ++i) {
        const auto& one = f.followers[i];
        line("follower_" + std::to_string(i),
             "address=" + one.address + ",connected=" + (one.connected ? "1" : "0") +
                 ",position=" + std::to_string(one.position) + ",lag_records=" + std::to_string(one.behind) +
                 ",lag_bytes=" + std::to_string(one.behind_bytes) + ",silent_ms=" + std::to_string(one.silent.count()));
    }
}

}  // namespace

std::string to_text(const server_statistics& s) {
    std::string text;
    const auto line = [&](std::string_view key, std::uint64_t value) {
        text.append(key).append(":").append(std::to_string(value)).append("\r\n");
    };
    text.append("# server\r\nserver:tutti\r\nversion:" TUTTI_SERVER_VERSION "\r\n");
    line("uptime_in_seconds", static_cast<std::uint64_t>(s.up.count()));
    line("workers", s.workers);
    text.append("executor:").append(s.executor).append("\r\n");
    text.append("\r\n# clients\r\n");
    line("connected_clients", s.clients);
    line("total_connections_received", s.total_connections_received);
    line("rejected_connections", s.rejected_connections);
    line("logins_failed", s.logins_failed);
    line("logins_rejected", s.logins_rejected);
    line("clients_evicted", s.clients_evicted);
    line("clients_displaced", s.clients_displaced);
    line("requests_timed_out", s.requests_timed_out);
    line("commands_delayed", s.commands_delayed);
    line("calls_beyond_share", s.calls_beyond_share);
    text.append("latest_eviction:").append(s.latest_eviction).append("\r\n");
    line("commands", s.commands);
    line("malformed_requests", s.malformed);
    line("total_net_input_bytes", s.total_net_input_bytes);
    line("total_net_output_bytes", s.total_net_output_bytes);
    line("io_handoffs", s.io_handoffs);
    line("io_handoffs_reclaimed", s.io_handoffs_reclaimed);
    text.append("\r\n# memory\r\n");
    line("used_memory_rss", s.resident_bytes);
    line("buffered_bytes", s.buffered_bytes);
    line("buffered_bytes_of_clients", s.buffered_bytes_of_clients);
    line("buffered_bytes_of_calls", s.buffered_bytes_of_calls);
    text.append("\r\n# queue\r\n");
    line("running", s.busy.running);
    line("queue_capacity", s.busy.capacity);
    for (std::size_t level = 0; level < priority_levels; ++level) {
        if (s.busy.queued[level] != 0) line("queued_" + std::to_string(level), s.busy.queued[level]);
        if (s.busy.shed[level] != 0) line("shed_" + std::to_string(level), s.busy.shed[level]);
    }
    line("preempted", s.busy.preempted);
    line("parked", s.busy.parked);
    line("preemptions", s.busy.preemptions);
    line("priority_boosts", s.busy.priority_boosts);
    line("parkings", s.busy.parkings);
    line("priority_inheritances", s.busy.priority_inheritances);
    line("ticks_by_signal", s.busy.ticks_by_signal);
    line("ticks_by_kernel", s.busy.ticks_by_kernel);
    line("ticks_deferred", s.busy.ticks_deferred);
    if (s.cluster) {
        text.append("\r\n# cluster\r\n");
        line("cluster_node", s.cluster->node);
        line("cluster_nodes", s.cluster->nodes);
        line("cluster_nodes_lost", s.cluster->lost);
        line("cluster_commits", s.cluster->commits);
        line("cluster_aborts", s.cluster->aborts);
        line("cluster_round_trips", s.cluster->round_trips);
        line("cluster_transactions_in_doubt", s.cluster->in_doubt);
        if (s.forwarded_calls) {
            line("cluster_calls_forwarded", s.forwarded_calls->forwarded);
            line("cluster_calls_received", s.forwarded_calls->received);
            line("cluster_calls_declined", s.forwarded_calls->declined);
            line("cluster_calls_unknown", s.forwarded_calls->unknown);
            line("cluster_calls_awaited", s.forwarded_calls->awaited);
        }
    }
    if (s.log) {
        text.append("\r\n# log\r\n");
        line("log_calls", s.log->calls);
        line("log_bytes", s.log->bytes);
        line("log_groups", s.log->groups);
        line("log_pending_bytes", s.log->pending_bytes);
        line("log_bytes_to_replay", s.log->bytes_to_replay);
        add_snapshots(text, s.log->snapshots);
        text.append("log_error:").append(s.log->error).append("\r\n");
    }
    if (s.replication) add_replication(text, *s.replication);
    if (!s.blocks.empty()) {
        server_statistics::block_statistics all;
        for (const auto& [name, block] : s.blocks) {
            all.commits += block.commits;
            for (std::size_t c = 0; c < abort_cause_count; ++c) all.aborts[c] += block.aborts[c];
        }
        text.append("\r\n# transactions\r\n");
        line("commits", all.commits);
        text.append("aborts:");
        for (std::size_t c = 1; c < abort_cause_count; ++c) {
            if (c != 1) text.push_back(',');
            text.append(name_of(static_cast<abort_cause>(c))).append("=").append(std::to_string(all.aborts[c]));
        }
        text.append("\r\n");
    }
    text.append("\r\n# procedures\r\n");
    for (const server_statistics::procedure_statistics& p : s.procedures) {
        text.append("procedure_").append(p.name).append(":");
        for (std::size_t e = 0; e < call_outcome_count; ++e) {
            if (e != 0) text.push_back(',');
            text.append(code_of(static_cast<call_outcome>(e))).append("=").append(std::to_string(p.outcomes[e]));
        }
        text.append("\r\n");
    }
    text.append("\r\n# turnaround\r\n");
    for (const server_statistics::procedure_statistics& p : s.procedures) {
        for (const auto& [priority, sum] : p.priorities) {
            const std::uint64_t calls = observe::count_of(sum.buckets);
            text.append("turnaround_").append(p.name).append("_").append(std::to_string(priority));
            text.append(":calls=").append(std::to_string(calls));
            text.append(",sum_us=").append(std::to_string(sum.microseconds));
            text.append(",mean_us=").append(std::to_string(sum.microseconds / calls));
            for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}})
                text.append(",").append(name).append("_us=").append(std::to_string(percentile(sum, q)));
            text.append("\r\n");
        }
    }
    return text;
}

}  // namespace tutti::server
