// A whole cluster in one thread: its protocol nodes, and a network in virtual time between them. A `simulated_thread`
// is one thread of a node. A derived class provides the thread's stack, and a derived cluster decides when an arriving
// frame is handled.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/protocol/rejoin_protocol.hpp"
#include "cluster/protocol/transaction.hpp"
#include "wire/simulated_network.hpp"

namespace tutti::cluster::simulation {

class simulated_thread;

/// A cluster in one thread. Everything happens in `network().step()`, and is determined by the seed and the calls.
class simulated_cluster {
public:
    simulated_cluster(node_number nodes, object_placement how, std::uint64_t seed,
                      const wire::network_conditions& network);
    virtual ~simulated_cluster();
    simulated_cluster(const simulated_cluster&) = delete;
    simulated_cluster& operator=(const simulated_cluster&) = delete;

    [[nodiscard]] protocol_node& at(node_number n) noexcept { return *nodes_[n]; }
    [[nodiscard]] std::span<const std::unique_ptr<protocol_node>> protocol_nodes() const noexcept { return nodes_; }
    [[nodiscard]] wire::simulated_network& network() noexcept { return network_; }
    /// Sends a message, with a header from the sender's clock. `sure` is as in wire::simulated_network.
    void send(node_number from, node_number to, wire::message_type type, std::uint64_t call, const std::string& body,
              bool sure);

    /// Ends the node, with all its memory. The node's messages may still arrive until the other nodes notice the loss,
    /// each at its own time within `notice`. Later messages are dropped.
    void end_node(node_number n, std::uint64_t notice);
    /// Starts the node again with an empty memory, as another process. The other nodes admit the new process once they
    /// have noticed the loss of the former one. If another node is lost before its ownership report, the new process
    /// ends, and is started again after `notice`. REQUIRES: the node has ended.
    void restart_node(node_number n, std::uint64_t notice);
    /// Starts the node again, but sends no requests to the other nodes. See resend_requests.
    void begin_rejoin(node_number n);
    /// Sends the requests again to the nodes that have not answered. REQUIRES: begin_rejoin was called.
    void resend_requests(node_number n) { rejoins_[n]->resend(); }
    /// Returns true if the node has ever ended.
    [[nodiscard]] bool has_ended(node_number n) const noexcept { return lives_[n] != life::running; }
    /// Returns true if the node runs, and has been admitted if it had ended.
    [[nodiscard]] bool is_serving(node_number n) const noexcept {
        return lives_[n] == life::running || lives_[n] == life::rejoined;
    }

    /// Returns true if the node runs, admitted or not.
    [[nodiscard]] bool is_running(node_number n) const noexcept { return lives_[n] != life::ended; }

    /// Returns the node's rejoin version, as of which the node's former ownership has ended. Returns 0 if the node has
    /// not rejoined.
    [[nodiscard]] std::uint64_t rejoin_version(node_number n) { return rejoins_[n]->version(); }
    [[nodiscard]] std::uint64_t latest_rejoin_version() {
        std::uint64_t latest = 0;
        for (const auto& a : rejoins_) latest = std::max(latest, a->version());
        return latest;
    }

    /// Returns how often a directory evicted an entry that it had to report to the object's home.
    [[nodiscard]] std::size_t evictions_reported() const noexcept { return evictions_reported_; }

protected:
    using process = std::uint64_t;  ///< a process of a node, from 1 on; 0: none
    /// The processes at both ends of a connection. Their numbers precede each frame.
    struct ends {
        process from, to;
    };
    /// Reads the header of a frame, which follows the processes at both ends.
    [[nodiscard]] static bool read_header(const std::string& frame, wire::header& h);
    [[nodiscard]] static std::string_view body_of(const std::string& frame) {
        return std::string_view{frame}.substr(sizeof(ends) + wire::header::size);
    }
    /// Handles a frame: the protocol node serves a request, or the simulated thread gets an answer.
    void deliver(node_number to, const std::string& frame);
    /// Called when a frame arrives. Handles the frame now or later.
    virtual void on_arrival(node_number to, const std::string& frame) { deliver(to, frame); }
    /// Called when an object that a block of that node watches has changed.
    virtual void on_change(node_number at, const object_id& id) = 0;
    /// Reports an event that must not happen in any run.
    virtual void fail(const char* what) = 0;
    /// Called when node `at` has lost node `lost`. By then the threads of `at` know of the loss.
    virtual void on_node_lost(node_number at, node_number lost) { static_cast<void>(at), static_cast<void>(lost); }
    /// Called with a new protocol node, including that of a restarted node, before the node does anything. Not called
    /// for the protocol nodes with which the simulated cluster begins.
    virtual void on_new_node(protocol_node& fresh) { static_cast<void>(fresh); }
    /// Called when a restarted node has been admitted.
    virtual void on_rejoined(node_number n) { static_cast<void>(n); }
    /// Ends the node before any other node notices.
    void end_unnoticed(node_number n) noexcept { lives_[n] = life::ended; }
    /// Returns true if the node has been admitted, and so serves requests.
    bool is_admitted(node_number n);
    /// Makes node `at` notice that the other node has ended, unless `at` itself has ended.
    void lose_node(node_number at, node_number lost);

private:
    friend class simulated_thread;
    class simulated_sender;
    class rejoin_sender;

    enum class life : std::uint8_t { running, ended, rejoining, rejoined };
    void rejoin(node_number n, process which, std::uint64_t notice);
    /// Returns true if a message between these processes arrives.
    [[nodiscard]] bool accepts(node_number to, const wire::header& h, ends of);
    /// Returns true if node `at` has lost `other`.
    [[nodiscard]] bool knows_lost(node_number at, node_number other);

    const object_placement placement_;
    std::vector<std::unique_ptr<protocol_node>> nodes_, former_nodes_;
    std::vector<life> lives_;
    std::vector<std::unique_ptr<simulated_sender>> senders_;
    std::vector<std::unique_ptr<rejoin_sender>> rejoin_senders_;
    std::vector<std::unique_ptr<rejoin_protocol>> rejoins_, former_rejoins_;
    std::vector<process> processes_;           // the processes that run, or have ended
    std::vector<std::vector<process>> links_;  // for each node: the process of each other node that it is connected
                                               // with
    std::size_t evictions_reported_ = 0;
    std::vector<simulated_thread*> threads_;  // by number
    wire::simulated_network network_;
};

/// The port of one thread of a node. The number of every request contains the thread's number, so the cluster hands the
/// answer to that thread. Duplicates of an answer are ignored.
class simulated_thread : public network {
public:
    /// Makes a thread. Threads are numbered in the order in which they are made.
    simulated_thread(simulated_cluster& in, node_number at);

    /// REQUIRES: the caller runs on the stack that suspend() leaves.
    void exchange(std::span<call> calls) override;
    void begin(std::span<call> calls) override;
    void finish() override;
    void post(node_number to, wire::message_type type, std::string body) override;
    [[nodiscard]] bool is_reachable(node_number node) const noexcept override;

    [[nodiscard]] node_number home() const noexcept { return home_; }
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    virtual void resume() = 0;

protected:
    /// Leaves the thread's stack until resume().
    virtual void suspend() = 0;
    /// Returns the virtual time after which an unanswered request is sent again; 0: never.
    [[nodiscard]] virtual std::uint64_t failure_timeout() const noexcept { return 0; }

    simulated_cluster& cluster_;

private:
    friend class simulated_cluster;

    /// Calls of the thread, which waits for all their answers together.
    struct call_batch {
        std::span<call> calls;
        std::uint64_t first = 0;
        /// Returns true if each call was answered, or was given up because its node was lost.
        [[nodiscard]] bool is_complete() const noexcept;
    };

    void receive_answer(std::uint64_t number, std::string_view body);
    void fail_calls_to(node_number lost);
    void start_batch(call_batch& r, std::span<call> calls);
    void wait_for(call_batch& r);
    /// Sends the requests that have no answer, and sends them again after a while.
    void send_unanswered(std::uint64_t first);

    const node_number home_;
    const unsigned number_;
    std::array<call_batch, 2> batches_;
    call_batch &current_ = batches_[0], &prefetch_ = batches_[1];
    const call_batch* awaited_ = nullptr;
    std::uint64_t next_call_ = 1;
};

}  // namespace tutti::cluster::simulation
