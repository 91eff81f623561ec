// The network port over a transport: numbered calls, threads that wait for the answers, and lost nodes.
//
// A context that waits for answers rests (api/data_participant.hpp). If a scheduler runs the context, its worker runs other
// contexts meanwhile.
//
// A line belongs to one context. The line's slot is part of the name of every transaction that the context runs. Each
// call carries the slot and a count. A late answer carries an old count, so it is dropped.
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

#include "api/data_participant.hpp"
#include "cluster/changes.hpp"
#include "cluster/protocol/admission.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/site.hpp"
#include "cluster/timeline.hpp"
#include "tutti/cluster/calls.hpp"
#include "wire/transport.hpp"

namespace tutti::cluster {

class channel;

class line final : public network {
public:
    line(channel& of, core::descriptor& user, std::uint16_t number) noexcept
        : channel_{of}, user_{user}, slot{number} {}

    void exchange(std::span<call> calls) override;
    void begin(std::span<call> calls) override;
    void finish() override;
    void post(node_number to, wire::message_type kind, std::string body) override;
    void pause(unsigned turn) override;
    [[nodiscard]] bool hears(node_number node) const noexcept override;

    /// Returns true if a timeline is being recorded. The timeline needs to know when attempts begin.
    [[nodiscard]] bool is_recorded() const noexcept;
    /// Tells the timeline that calls from here on belong to attempt `sequence` of this context.
    void works_for(std::uint64_t sequence) noexcept { sequence_ = sequence; }
    /// Tells the timeline that the attempt of an outermost block begins. The timeline shows the attempt at its end if
    /// the attempt has asked another node or waited.
    void attempt_begins() noexcept;
    void attempt_ends(timeline_end how, rollback_reason why) noexcept {
        if (is_remote_) note_attempt(how, why);
    }

private:
    friend class channel;
    /// Calls whose answers are waited for together.
    struct round {
        std::span<call> calls;
        std::uint64_t first = 0;
        std::size_t missing = 0;
        std::int64_t asked_ns = 0;     // by the timeline's clock; 0: not recorded
        std::uint64_t sequence = 0;    // the attempt that asks
        node_number last_to_come = 0;  // the node whose answer came last
        /// Not zero: no answer is missing. Stored with release by the thread that receives the last answer. Loaded with
        /// acquire by the thread that waits.
        tutti::detail::shared<std::uint32_t> ended{1};
        [[nodiscard]] bool complete() const noexcept { return ended.load(std::memory_order_acquire) != 0; }
    };

    void answer(std::uint64_t number, node_number from, std::string_view body);
    void give_up_on(node_number node);
    void ask(round& r, std::span<call> calls);
    void await(round& r);
    void forget(round& r) noexcept;
    /// Subtracts `calls` from the number of missing answers.
    /// REQUIRES: the caller holds the lock.
    void settle(round& r, std::size_t calls) noexcept;
    [[nodiscard]] bool spin_until_complete(const round& r) noexcept;
    void note_attempt(timeline_end how, rollback_reason why) noexcept;
    void note_call(const round& r, std::size_t which, timeline_end how) noexcept;
    void note_wait(const round& r, std::int64_t since) noexcept;

    channel& channel_;
    core::descriptor& user_;  // the descriptor of the line's one context

public:
    const std::uint16_t slot;

private:
    std::mutex guard_;  // guards the rounds, which the line's thread and the reading thread use
    std::array<round, 2> rounds_;
    round &now_ = rounds_[0], &ahead_ = rounds_[1];
    std::uint64_t count_ = 1;
    std::uint64_t random_ = 0;
    unsigned sleeps_ = 0;       // how many of the next waits do not spin
    unsigned last_sleeps_ = 0;  // the latest value that sleeps_ was set to
    // For the timeline:
    std::uint64_t sequence_ = 0;   // the attempt that asks
    std::uint64_t outermost_ = 0;  // the attempt of the outermost block
    std::int64_t began_ns_ = 0;    // when that attempt began
    bool is_remote_ = false;       // whether that attempt has asked another node or waited
};

class channel final : public wire::transport::handler, private audience, public call_carrier, private gate {
public:
    /// Listens for the other nodes. Observers are told `facts`, which the reading thread calls after `join`.
    channel(site& of, changes& heard, const wire::transport_options& how, std::chrono::milliseconds patience,
            std::function<node_facts()> facts);
    ~channel() override;
    /// Waits until all nodes are connected. If the others have begun without this node, also waits until they have
    /// admitted it. Throws wire::wire_error, as the constructor does.
    void join();

    /// Returns a line for one more thread. The channel keeps the line until its own end. Throws std::length_error if
    /// there are too many lines.
    line& open_line(core::descriptor& user);
    /// Adds the facts that the channel knows to `to`.
    void describe(node_facts& to) const;

    void hand_calls_to(call_handler* whom) override;
    [[nodiscard]] unsigned number() const noexcept override { return site_.self; }
    [[nodiscard]] unsigned owner(const object_id& id) override { return site_.objects.owner_of(id); }
    [[nodiscard]] std::size_t most_bytes() const noexcept override;
    [[nodiscard]] bool send(unsigned to, std::uint64_t number, const forwarded_call& what) override;
    void cancel(unsigned to, std::uint64_t number, bool stranded) override;
    void answer(unsigned to, std::uint64_t number, const forwarded_answer& how) noexcept override;

private:
    friend class line;
    bool receive(const wire::header& h, std::string_view body) override;
    void on_node_lost(node_number node) noexcept override;
    [[nodiscard]] bool has_admitted(node_number node) const noexcept override { return !site_.objects.is_lost(node); }
    void heartbeat(node_number node) override { send(node, wire::message_type::heartbeat, 0, {}); }
    void merge_clock(std::uint64_t clock) noexcept override { site_.clock.raise_to(clock); }
    [[nodiscard]] std::uint64_t clock() const noexcept override { return site_.clock.now(); }
    void say(node_number to, wire::message_type kind, std::string body) override { send(to, kind, 0, body); }
    [[nodiscard]] std::uint64_t process_of(node_number n) override { return transport_->process_of(n); }
    void be_let_in();
    node_facts status() override { return facts_(); }
    void start_recording() override { timeline_.start(); }
    void take_recorded(wire::timeline_reply& to) override;
    void drop_recording() noexcept override { timeline_.drop(); }
    std::vector<doubt> doubts() override { return site_.votes.list_doubts(); }
    settling_answer resolve_doubt(const wire::resolve_doubt& what) override {
        return site_.votes.settle(what.who, what.commits);
    }
    void changed(const object_id& id, std::span<const node_number> watchers) override;
    [[nodiscard]] bool forgets(const object_id& id, node_number owner, std::uint64_t version) noexcept override;
    void invalidate(const object_id& id, node_number sharer, std::uint64_t grant) noexcept override;
    [[nodiscard]] bool receive_call(const wire::header& h, std::string_view body);
    void note_served(const wire::header& h, std::string_view body, const std::optional<site::answer>& a,
                     std::int64_t since) noexcept;
    bool send(node_number to, wire::message_type kind, std::uint64_t call, std::string_view body);

    site& site_;
    changes& changes_;
    const std::chrono::milliseconds patience_, connect_within_;
    const std::vector<std::string> addresses_;
    const std::function<node_facts()> facts_;
    admission admission_;
    std::mutex guard_;
    std::deque<line> lines_;
    std::array<std::atomic<line*>, wire::max_slots> by_slot_{};
    std::mutex calls_guard_;  // held while calls_ is called
    call_handler* calls_ = nullptr;
    std::atomic<std::uint64_t> round_trips_{0};
    std::array<std::atomic<std::int64_t>, most_nodes> heard_at_{};  ///< when each node was last heard, by the steady
                                                                    ///< clock, in ns
    timeline timeline_;
    // Threads that spin may occupy half of the processors.
    std::atomic<unsigned> spinning_{0};
    const unsigned most_spinning_ = std::max(std::thread::hardware_concurrency() / 2, 1U);
    std::unique_ptr<wire::transport> transport_;  // null in a cluster of one node
};

inline bool line::is_recorded() const noexcept { return channel_.timeline_.records(); }

}  // namespace tutti::cluster
