// A whole cluster in one thread: the sites of its nodes, and a network in virtual time between them. A `caller` is one
// thread of a node. The caller's creator provides its stack, and decides what an arrival costs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/protocol/admission.hpp"
#include "cluster/protocol/transaction.hpp"
#include "wire/simulated_network.hpp"

namespace tutti::cluster::simulation {

class caller;

/// A cluster in one thread. Everything happens in `network().step()`, and is determined by the seed and the calls.
class mesh {
public:
    mesh(node_number nodes, moving how, std::uint64_t seed, const wire::network_conditions& network);
    virtual ~mesh();
    mesh(const mesh&) = delete;
    mesh& operator=(const mesh&) = delete;

    [[nodiscard]] site& at(node_number n) noexcept { return *sites_[n]; }
    [[nodiscard]] std::span<const std::unique_ptr<site>> sites() const noexcept { return sites_; }
    [[nodiscard]] wire::simulated_network& network() noexcept { return network_; }
    /// Sends a message, with a header from the sender's clock. `sure` is as in wire::simulated_network.
    void send(node_number from, node_number to, wire::message_type kind, std::uint64_t call, const std::string& body,
              bool sure);

    /// Ends the node, with all its memory. The node's messages may still arrive until the other nodes notice the loss,
    /// each at its own time within `notice`. Later messages are dropped.
    void end(node_number n, std::uint64_t notice);
    /// Starts the node again with an empty memory, as another process. The other nodes admit the new process once they
    /// have noticed the loss of the former one. If another node is lost before its survey, the new process ends, and is
    /// started again after `notice`.
    /// REQUIRES: the node has ended.
    void start_again(node_number n, std::uint64_t notice);
    /// Starts the node again, but without questions to the others. See ask_again.
    void begin_return(node_number n);
    /// Asks the nodes that have not answered.
    /// REQUIRES: begin_return.
    void ask_again(node_number n) { admissions_[n]->repeat(); }
    /// Returns true if the node has ever ended.
    [[nodiscard]] bool has_ended(node_number n) const noexcept { return lives_[n] != life::runs; }
    /// Returns true if the node runs, and has been admitted if it had ended.
    [[nodiscard]] bool serves(node_number n) const noexcept {
        return lives_[n] == life::runs || lives_[n] == life::again;
    }

    /// Returns true if the node runs, admitted or not.
    [[nodiscard]] bool runs(node_number n) const noexcept { return lives_[n] != life::ended; }

    /// Returns the version of the node's return, at which all that it had owned before has ended. Returns 0 if it has
    /// not come back.
    [[nodiscard]] std::uint64_t version_of_return(node_number n) { return admissions_[n]->version(); }
    [[nodiscard]] std::uint64_t latest_return() {
        std::uint64_t latest = 0;
        for (const auto& a : admissions_) latest = std::max(latest, a->version());
        return latest;
    }

    /// Returns how often a directory forgot something that the object's home had to be told.
    [[nodiscard]] std::size_t told_homes() const noexcept { return told_homes_; }

protected:
    using process = std::uint64_t;  ///< a process of a node, from 1 on; 0: none
    /// The processes at both ends of a connection, which precede each frame.
    struct ends {
        process from, to;
    };
    /// Reads the header of a frame, which follows the processes at both ends.
    [[nodiscard]] static bool read_header(const std::string& frame, wire::header& h);
    [[nodiscard]] static std::string_view body_of(const std::string& frame) {
        return std::string_view{frame}.substr(sizeof(ends) + wire::header::size);
    }
    /// Takes a frame: the site serves it, or the caller gets the answer.
    void take(node_number to, const std::string& frame);
    /// Handles an arrival: takes the frame now, or later.
    virtual void arrive(node_number to, const std::string& frame) { take(to, frame); }
    /// Called when an object has changed that a block at that node watches.
    virtual void heard_of_change(node_number at, const object_id& id) = 0;
    /// Reports an event that no run may show.
    virtual void go_wrong(const char* what) = 0;
    /// Called when that node has lost the other one. The node's callers know of the loss by then.
    virtual void heard_of_end(node_number at, node_number gone) { static_cast<void>(at), static_cast<void>(gone); }
    /// Called with a new site, also of a restarted node, before anything happens there. Not called for the sites that
    /// the mesh begins with.
    virtual void equip(site& fresh) { static_cast<void>(fresh); }
    /// Called when a restarted node has been admitted.
    virtual void heard_of_return(node_number n) { static_cast<void>(n); }
    /// Ends the node before any other node notices.
    void end_unseen(node_number n) noexcept { lives_[n] = life::ended; }
    /// Returns true if the node is admitted by now. An admitted node serves.
    bool is_let_in(node_number n);
    /// Makes node `at` notice that the other one has ended, unless `at` has ended itself.
    void lose(node_number at, node_number gone);

private:
    friend class caller;
    class teller;
    class doorman;

    enum class life : std::uint8_t { runs, ended, comes, again };
    void be_let_in(node_number n, process which, std::uint64_t notice);
    /// Returns true if a message between these processes arrives.
    [[nodiscard]] bool hears(node_number to, const wire::header& h, ends of);
    /// Returns true if node `at` has lost `other`.
    [[nodiscard]] bool knows_gone(node_number at, node_number other);

    const moving how_;
    std::vector<std::unique_ptr<site>> sites_, former_;
    std::vector<life> lives_;
    std::vector<std::unique_ptr<teller>> tellers_;
    std::vector<std::unique_ptr<doorman>> doormen_;
    std::vector<std::unique_ptr<admission>> admissions_, former_admissions_;
    std::vector<process> processes_;           // the processes that run, or have ended
    std::vector<std::vector<process>> links_;  // for each node: the process of each other node that it is connected
                                               // with
    std::size_t told_homes_ = 0;
    std::vector<caller*> callers_;  // by number
    wire::simulated_network network_;
};

/// The port of one thread of a node. The caller's number goes with every question, so an answer finds the caller, and
/// counts only once.
class caller : public network {
public:
    /// Makes a caller. Callers are numbered in the order in which they are made.
    caller(mesh& in, node_number at);

    /// REQUIRES: runs on the stack that suspend() leaves.
    void exchange(std::span<call> calls) override;
    void begin(std::span<call> calls) override;
    void finish() override;
    void post(node_number to, wire::message_type kind, std::string body) override;
    [[nodiscard]] bool hears(node_number node) const noexcept override;

    [[nodiscard]] node_number home() const noexcept { return home_; }
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    virtual void resume() = 0;

protected:
    /// Leaves the caller's stack until resume().
    virtual void suspend() = 0;
    /// Returns the virtual time after which an unanswered question is sent again; 0: never.
    [[nodiscard]] virtual std::uint64_t patience() const noexcept { return 0; }

    mesh& mesh_;

private:
    friend class mesh;

    /// Calls whose answers are waited for together.
    struct round {
        std::span<call> calls;
        std::uint64_t first = 0;
        /// Returns true if each call was answered, or its node was given up.
        [[nodiscard]] bool complete() const noexcept;
    };

    void answer(std::uint64_t number, std::string_view body);
    void give_up_on(node_number gone);
    void start(round& r, std::span<call> calls);
    void await(round& r);
    /// Sends the questions that have no answer, and sends them again after a while.
    void ask(std::uint64_t first);

    const node_number home_;
    const unsigned number_;
    std::array<round, 2> rounds_;
    round &now_ = rounds_[0], &ahead_ = rounds_[1];
    const round* awaited_ = nullptr;
    std::uint64_t next_call_ = 1;
};

}  // namespace tutti::cluster::simulation
