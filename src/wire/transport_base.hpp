// The common part of all transports between processes: sends and receives the frames of each other node. The answers to
// frames that arrived in one read are sent together. This class also measures for how long each node has been silent,
// and records which nodes have joined, and why other nodes have not.
//
// One thread reads, and calls the handler; any thread may send. The derived transport transfers the bytes: see `flush`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "observe/counter.hpp"
#include "wire/observer_server.hpp"
#include "wire/transport.hpp"

namespace tutti::wire {

class transport_base : public transport {
public:
    bool send(node_number to, header h, std::string_view body) final;
    void describe(cluster::node_status& to) const final;
    [[nodiscard]] bool others_have_begun() const final;
    [[nodiscard]] bool has_begun(node_number n) const final;
    void begin() final { begun_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t process_of(node_number n) const final;

protected:
    /// One process of another node. Each transport derives a class that adds the connection.
    struct peer : std::enable_shared_from_this<peer> {
        peer(node_number n, std::mutex& of_node) : number{n}, guard{of_node} {}
        virtual ~peer() = default;
        peer(const peer&) = delete;
        peer& operator=(const peer&) = delete;

        const node_number number;
        std::uint64_t process = 0;      // the process that the peer claims to be; set with the connection
        bool begun = false;             // whether the peer had begun when it connected; set with the connection
        std::atomic<bool> open{false};  // stored with release: a thread that loads true sees the connection

        // These members belong to the reading thread. Other threads read only the last two of them.
        std::string input;
        std::atomic<unsigned> silent_heartbeats{0};  // heartbeat intervals since the last received bytes
        std::atomic<std::int64_t> lost_at{0};        // milliseconds of the steady clock; 0: not lost

        // The output:
        std::mutex& guard;  // the lock of the peer's node
        std::string output;
        bool has_sent = false;  // this node has sent something since the last heartbeat
        bool doomed = false;    // too much output is unread; the peer will be ended
    };
    /// The latest peer of each node. A former peer is destroyed with the last shared pointer to it. Threads that were
    /// about to send to the former peer hold such pointers, and so do pending operations of the reading thread. Only
    /// the reading thread replaces a peer, so that thread may use the latest peer without a shared pointer.
    class peers {
    public:
        explicit peers(std::size_t nodes) : now_(nodes) {}
        [[nodiscard]] std::size_t size() const noexcept { return now_.size(); }
        /// Returns a copy of the shared pointer. For threads other than the reading thread.
        [[nodiscard]] std::shared_ptr<peer> share(std::size_t n) const {
            const std::lock_guard hold{now_[n].guard};
            return now_[n].latest;
        }
        /// Returns the shared pointer itself. For threads other than the reading thread.
        /// REQUIRES: the caller holds the node's lock.
        [[nodiscard]] const std::shared_ptr<peer>& latest(std::size_t n) const noexcept { return now_[n].latest; }
        [[nodiscard]] std::mutex& guard(std::size_t n) const noexcept { return now_[n].guard; }
        /// Returns the peer. For the reading thread, or while that thread does not run.
        [[nodiscard]] peer* operator[](std::size_t n) const noexcept { return now_[n].latest.get(); }
        /// Replaces the peer by a new one. For the reading thread, or while that thread does not run.
        template <class Peer>
        Peer& put(node_number n) {
            const auto fresh = std::make_shared<Peer>(n, now_[n].guard);
            std::shared_ptr<peer> before = fresh;  // the former peer is destroyed without the lock
            const std::lock_guard hold{now_[n].guard};
            std::swap(now_[n].latest, before);
            return *fresh;
        }
        /// REQUIRES: no other thread uses this object.
        void clear() noexcept {
            for (node& n : now_) n.latest.reset();
        }

        struct iterator {
            const peers* in;
            std::size_t at;
            [[nodiscard]] peer* operator*() const noexcept { return (*in)[at]; }
            iterator& operator++() noexcept {
                ++at;
                return *this;
            }
            [[nodiscard]] bool operator==(const iterator& other) const noexcept { return at == other.at; }
        };
        [[nodiscard]] iterator begin() const noexcept { return {this, 0}; }
        [[nodiscard]] iterator end() const noexcept { return {this, now_.size()}; }

    private:
        struct node {
            mutable std::mutex guard;
            std::shared_ptr<peer> latest;
        };
        std::vector<node> now_;
    };

    transport_base(const transport_options& how, std::vector<address> addresses, handler& to);

    // ---- the part of each derived transport

    /// Sends as much of `output` as possible now. The rest is sent later.
    /// REQUIRES: the caller does not hold p.guard.
    virtual void flush(peer& p) = 0;
    /// Makes the reading thread call end(p). Any thread may call this, even while it holds p.guard.
    virtual void end_soon(peer& p) = 0;
    /// Ends the connection in both directions. The reading thread calls this once for each peer.
    virtual void close_connection(peer& p) noexcept = 0;

    // ---- for the reading thread

    /// Handles the bytes that the peer has sent, which are in `input`. Returns false if they contain an invalid frame.
    [[nodiscard]] bool process_input(peer& p);
    /// To be called once per heartbeat interval: sends heartbeats, and ends peers that have been silent for too long.
    void send_heartbeats();
    void end(peer& p);

    // ---- joining

    /// Throws the wire_error for a node that cannot listen at its own address.
    [[noreturn]] void refuse_to_listen(int error, const std::string& in_words) const;
    /// Returns the hello of this node. The hello is the same for all receivers, apart from the flags `flags`.
    [[nodiscard]] std::string own_hello(std::uint64_t flags = 0);
    /// Returns true if this node accepts a hello of our protocol version. The hello must be from this cluster. If this
    /// node has called node `called`, the hello must be from that node. That node must not be connected with another
    /// process of this node's number. If `called` is not a node's number, the sender has called, and `may_call` must be
    /// true. Reports or records the problem if the hello is not accepted.
    [[nodiscard]] bool accepts_hello(const header& got, const hello& received, node_number called, bool may_call);
    void report_version_mismatch(const header& got);
    /// Makes await_all() fail with this error.
    void report_problem(std::string what);
    /// Records a problem with an unknown client. The nodes join in spite of the problem, so the problem is reported
    /// only if the nodes fail to join.
    void record_problem(std::string what);
    void on_peer_joined(peer& p, const header& hello);
    [[nodiscard]] bool has_begun() const noexcept { return begun_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_node(node_number n) const noexcept { return n < peers_.size(); }
    /// Returns the node's name for messages.
    [[nodiscard]] std::string name_of(node_number n) const;
    /// Waits until all nodes have joined. Throws wire_error if some nodes do not join, or if a problem was reported.
    void await_all();

    const transport_options options_;
    handler& handler_;
    const std::vector<address> addresses_;
    observer_server observer_server_;
    peers peers_;
    std::atomic<std::uint64_t> system_calls_{0};
    observe::counter received_bytes_;  // counted by the reading thread
    std::atomic<bool> closing_{false};
    [[nodiscard]] std::chrono::milliseconds heartbeat_interval() const noexcept;

private:
    bool process_frames(peer& p);
    [[nodiscard]] bool all_have_joined() const;

    std::atomic<std::uint64_t> frames_{0}, bytes_{0};
    observe::counter received_frames_;

    const std::uint64_t process_;
    std::atomic<bool> begun_{false};
    mutable std::mutex joining_;  // guards the following members
    std::string problem_;
    std::string recorded_problem_;  // about the last unknown client
    std::vector<bool> joined_;      // by number: has joined
    bool others_begun_ = false;
    std::condition_variable changed_;
};

/// Returns the result of `f`, which handles a peer's frames, or false if memory is lacking. In that case the caller has
/// to end the connection. The request may be half done, so the peer must not assume either result.
template <class F>
[[nodiscard]] bool with_memory(F&& f) noexcept {
    try {
        return std::forward<F>(f)();
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace tutti::wire
