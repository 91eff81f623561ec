// Implements the network port over a transport: numbers calls, lets threads wait for the answers, and handles lost
// nodes.
//
// If a scheduler runs the context that waits for answers, the scheduler's worker runs other contexts meanwhile
// (api/hooks/data_participant.hpp).
//
// An RPC client belongs to one context. The client's slot is part of the name of every transaction that the context
// runs. Each call carries the slot and a count. A late answer carries an old count, so it is dropped.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "api/hooks/data_participant.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/protocol_node.hpp"
#include "cluster/protocol/rejoin_protocol.hpp"
#include "cluster/rpc/local_change_feed.hpp"
#include "cluster/rpc/timeline.hpp"
#include "tutti/cluster/calls.hpp"
#include "wire/transport.hpp"

namespace tutti::cluster {

class rpc_endpoint;

class rpc_client final : public network {
public:
    rpc_client(rpc_endpoint& of, core::descriptor& context, std::uint16_t number) noexcept
        : endpoint_{of}, descriptor_{context}, slot{number} {}

    void exchange(std::span<call> calls) override;
    void begin(std::span<call> calls) override;
    void finish() override;
    void post(node_number to, wire::message_type type, std::string body) override;
    void pause(unsigned attempt) override;
    [[nodiscard]] bool is_reachable(node_number node) const noexcept override;

    /// Returns true if a timeline is being recorded. A timeline needs the times at which attempts begin.
    [[nodiscard]] bool is_recording() const noexcept;
    /// Tells the timeline that calls from here on belong to attempt `sequence` of this context.
    void set_attempt(std::uint64_t sequence) noexcept { attempt_ = sequence; }
    /// Tells the timeline that the attempt of an outermost block begins. When the attempt ends, the timeline records it
    /// if it has called another node or waited.
    void on_attempt_begin() noexcept;
    void on_attempt_end(timeline_outcome how, rollback_reason why) noexcept {
        if (is_remote_) record_attempt(how, why);
    }

private:
    friend class rpc_endpoint;
    /// Calls of one thread, which waits for all their answers together.
    struct call_batch {
        std::span<call> calls;
        std::uint64_t first = 0;
        std::size_t missing = 0;
        std::int64_t sent_ns = 0;        // by the timeline's clock; 0: not recorded
        std::uint64_t sequence = 0;      // the attempt that asks
        node_number last_to_answer = 0;  // the node whose answer arrived last
        /// Not zero if no answer is missing. The thread that receives the last answer stores it with release, and the
        /// waiting thread loads it with acquire.
        tutti::detail::shared<std::uint32_t> completed{1};
        [[nodiscard]] bool is_complete() const noexcept { return completed.load(std::memory_order_acquire) != 0; }
    };

    void receive_answer(std::uint64_t number, node_number from, std::string_view body);
    void fail_calls_to(node_number node);
    void send_calls(call_batch& r, std::span<call> calls);
    void wait_for(call_batch& r);
    void discard(call_batch& r) noexcept;
    /// Subtracts `calls` from the number of missing answers.
    /// REQUIRES: the caller holds the lock.
    void subtract_missing(call_batch& r, std::size_t calls) noexcept;
    [[nodiscard]] bool spin_until_complete(const call_batch& r) noexcept;
    void record_attempt(timeline_outcome how, rollback_reason why) noexcept;
    void record_call(const call_batch& r, std::size_t which, timeline_outcome how) noexcept;
    void record_wait(const call_batch& r, std::int64_t since) noexcept;

    rpc_endpoint& endpoint_;
    core::descriptor& descriptor_;  // the descriptor of the client's one context

public:
    const std::uint16_t slot;

private:
    std::mutex guard_;  // guards the batches, which the client's thread and the reading thread use
    std::array<call_batch, 2> batches_;
    call_batch &current_ = batches_[0], &prefetch_ = batches_[1];
    std::uint64_t next_call_ = 1;
    std::uint64_t random_ = 0;
    unsigned waits_without_spinning_ = 0;       // the number of coming waits that do not spin
    unsigned last_waits_without_spinning_ = 0;  // the latest value to which waits_without_spinning_ was set
    // For the timeline:
    std::uint64_t attempt_ = 0;            // the attempt that asks
    std::uint64_t outermost_attempt_ = 0;  // the attempt of the outermost block
    std::int64_t attempt_began_ns_ = 0;    // when that attempt began
    bool is_remote_ = false;               // whether that attempt has asked another node or waited
};

class rpc_endpoint final : public wire::transport::handler,
                           private change_listener,
                           public call_transport,
                           private rejoin_transport {
public:
    /// Listens for the other nodes. Observers get the status from `status_source`, which the reading thread calls after
    /// `join`.
    rpc_endpoint(protocol_node& of, local_change_feed& local_changes, const wire::transport_options& how,
                 std::chrono::milliseconds failure_timeout, std::function<node_status()> status_source);
    ~rpc_endpoint() override;
    /// Waits until all nodes are connected. If the other nodes have begun without this node, also waits until they have
    /// admitted this node. Throws wire::wire_error, as the constructor does.
    void join();

    /// Returns a client for one more context. The client lives as long as the endpoint. Throws std::length_error if
    /// there are too many clients.
    rpc_client& open_client(core::descriptor& context);
    /// Adds the endpoint's part of the status to `to`.
    void fill_status(node_status& to) const;

    void set_call_handler(call_handler* handler) override;
    [[nodiscard]] unsigned number() const noexcept override { return node_.self; }
    [[nodiscard]] unsigned owner(const object_id& id) override { return node_.objects.owner_of(id); }
    [[nodiscard]] std::size_t max_bytes() const noexcept override;
    [[nodiscard]] bool send(unsigned to, std::uint64_t number, const forwarded_call& what) override;
    void cancel(unsigned to, std::uint64_t number, bool stranded) override;
    void send_reply(unsigned to, std::uint64_t number, const forwarded_reply& how) noexcept override;

private:
    friend class rpc_client;
    bool receive(const wire::header& h, std::string_view body) override;
    void on_node_lost(node_number node) noexcept override;
    [[nodiscard]] bool has_admitted(node_number node) const noexcept override { return !node_.objects.is_lost(node); }
    void heartbeat(node_number node) override { send(node, wire::message_type::heartbeat, 0, {}); }
    void merge_clock(std::uint64_t clock) noexcept override { node_.clock.raise_to(clock); }
    [[nodiscard]] std::uint64_t clock() const noexcept override { return node_.clock.now(); }
    void send_one_way(node_number to, wire::message_type type, std::string body) override { send(to, type, 0, body); }
    [[nodiscard]] std::uint64_t process_of(node_number n) override { return transport_->process_of(n); }
    void rejoin();
    node_status status() override { return status_source_(); }
    void start_recording() override { timeline_.start(); }
    void take_recorded(wire::timeline_reply& to) override;
    void drop_recording() noexcept override { timeline_.drop(); }
    std::vector<doubt> doubts() override { return node_.commits.list_doubts(); }
    resolve_reply resolve_doubt(const wire::resolve_doubt& what) override {
        return node_.commits.resolve(what.who, what.commits);
    }
    void on_change(const object_id& id, std::span<const node_number> watchers) override;
    [[nodiscard]] bool report_eviction(const object_id& id, node_number owner, std::uint64_t version) noexcept override;
    void invalidate_copy(const object_id& id, node_number holder, std::uint64_t grant) noexcept override;
    [[nodiscard]] bool receive_call(const wire::header& h, std::string_view body);
    void record_served(const wire::header& h, std::string_view body, const std::optional<protocol_node::answer>& a,
                       std::int64_t since) noexcept;
    bool send(node_number to, wire::message_type type, std::uint64_t call, std::string_view body);

    protocol_node& node_;
    local_change_feed& local_changes_;
    const std::chrono::milliseconds failure_timeout_, connect_timeout_;
    const std::vector<std::string> addresses_;
    const std::function<node_status()> status_source_;
    rejoin_protocol rejoin_;
    std::mutex guard_;
    std::deque<rpc_client> clients_;
    std::array<std::atomic<rpc_client*>, wire::max_slots> clients_by_slot_{};
    std::mutex call_handler_guard_;  // held while call_handler_ is called
    call_handler* call_handler_ = nullptr;
    std::atomic<std::uint64_t> round_trips_{0};
    std::array<std::atomic<std::int64_t>, max_nodes>
        last_heard_ns_{};  ///< when each node last sent a message, by the steady
                           ///< clock, in ns
    timeline timeline_;
    // Threads that spin may occupy half of the processors.
    std::atomic<unsigned> spinning_{0};
    const unsigned max_spinning_ = std::max(std::thread::hardware_concurrency() / 2, 1U);
    std::unique_ptr<wire::transport> transport_;  // null in a cluster of one node
};

inline bool rpc_client::is_recording() const noexcept { return endpoint_.timeline_.is_recording(); }

}  // namespace tutti::cluster
