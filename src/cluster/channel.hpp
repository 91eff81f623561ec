// The network port over sockets: calls with numbers, threads that wait for their answers, nodes that are lost.
//
// A line belongs to one thread at a time (its slot is in the name of every transaction that it runs). Its calls carry
// the slot and a count; an answer that comes late finds another count, and is dropped.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "cluster/changes.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/site.hpp"
#include "wire/sockets.hpp"

namespace tutti::cluster {

class channel;

class line final : public network {
public:
    line(channel& of, std::uint16_t number) noexcept : channel_{of}, slot{number} {}

    void exchange(std::span<call> calls) override;
    void post(node_number to, wire::kind kind, std::string body) override;
    void pause(unsigned turn) override;

private:
    friend class channel;
    void answer(std::uint64_t number, node_number from, std::string_view body);
    void give_up_on(node_number node);
    [[nodiscard]] bool complete() const noexcept { return missing_.load(std::memory_order_acquire) == 0; }
    [[nodiscard]] bool spin_until_complete() noexcept;

    channel& channel_;

public:
    const std::uint16_t slot;

private:
    std::mutex guard_;  // of the calls, between their thread and the one that reads
    std::span<call> calls_;
    std::uint64_t first_ = 0;
    std::uint64_t count_ = 1;
    std::uint64_t random_ = 0;
    /// Release by the thread that brings the last answer, acquire by the thread that waits for it.
    std::atomic<std::uint32_t> missing_{0};
    unsigned sleeps_ = 0;       // waits that do not spin, of those to come
    unsigned last_sleeps_ = 0;  // how many these were at first
};

class channel final : public wire::sockets::handler, private audience {
public:
    /// Listens. `facts` is what observers are told, from `join` on, by the thread that reads.
    channel(site& of, changes& heard, const wire::socket_options& how, std::chrono::milliseconds patience,
            std::function<node_facts()> facts);
    ~channel() override;
    /// Returns when all nodes are connected. Throws wire::refusal, as the constructor.
    void join();

    /// A line for one more thread; kept until the end. Throws std::length_error where there are too many.
    line& open_line();
    /// What it knows of the facts of the node.
    void describe(node_facts& to) const;

private:
    friend class line;
    bool receive(const wire::header& h, std::string_view body) override;
    void lose(node_number node) override;
    void beat(node_number node) override { send(node, wire::kind::beat, 0, {}); }
    node_facts facts() override { return facts_(); }
    void changed(const object_id& id, std::span<const node_number> watchers) override;
    bool send(node_number to, wire::kind kind, std::uint64_t call, std::string_view body);

    site& site_;
    changes& changes_;
    const std::chrono::milliseconds patience_;
    const std::function<node_facts()> facts_;
    std::mutex guard_;
    std::deque<line> lines_;
    std::array<std::atomic<line*>, wire::most_slots> by_slot_{};
    std::atomic<std::uint64_t> round_trips_{0};
    // Half of the processors may be kept from sleeping by threads that wait.
    std::atomic<unsigned> spinning_{0};
    const unsigned most_spinning_ = std::max(std::thread::hardware_concurrency() / 2, 1U);
    std::unique_ptr<wire::sockets> sockets_;  // null in a cluster of one
};

}  // namespace tutti::cluster
