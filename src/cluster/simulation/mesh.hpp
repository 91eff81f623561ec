// A whole cluster in one thread: the sites of its nodes, and between them a network in virtual time. Who asks (a thread
// of a node) is a `caller`, on whatever stack its maker gives it; the maker also says what an arrival costs.
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
#include "wire/simulation.hpp"

namespace tutti::cluster::simulation {

class caller;

/// One thread; everything happens in `network().step()`, and follows from the seed and the calls.
class mesh {
public:
    mesh(node_number nodes, moving how, std::uint64_t seed, const wire::conditions& network);
    virtual ~mesh();
    mesh(const mesh&) = delete;
    mesh& operator=(const mesh&) = delete;

    [[nodiscard]] site& at(node_number n) noexcept { return *sites_[n]; }
    [[nodiscard]] std::span<const std::unique_ptr<site>> sites() const noexcept { return sites_; }
    [[nodiscard]] wire::simulation& network() noexcept { return network_; }
    /// With the header that the sender's clock gives it. `sure` as in wire::simulation.
    void send(node_number from, node_number to, wire::kind kind, std::uint64_t call, const std::string& body,
              bool sure);

    /// The node has ended, with all that it knew. What it has sent may arrive until the other ones notice, each by
    /// itself within `notice`; from then on nothing of it does.
    void end(node_number n, std::uint64_t notice);
    /// Starts it again with an empty memory: another process, which the others let in when they have noticed that the
    /// former one is gone. It ends, and is started again after `notice`, where one of them goes before it has said what
    /// it knows. REQUIRES: it has ended.
    void start_again(node_number n, std::uint64_t notice);
    /// The same, but it asks the others only when it is told to.
    void begin_return(node_number n);
    /// It asks those that have not answered. REQUIRES: begin_return.
    void ask_again(node_number n) { admissions_[n]->repeat(); }
    /// Whether it ever has.
    [[nodiscard]] bool has_ended(node_number n) const noexcept { return lives_[n] != life::runs; }
    /// Whether it runs, and has been let in if it had ended.
    [[nodiscard]] bool serves(node_number n) const noexcept {
        return lives_[n] == life::runs || lives_[n] == life::again;
    }

    /// Whether it does anything.
    [[nodiscard]] bool runs(node_number n) const noexcept { return lives_[n] != life::ended; }

    /// Since that version nothing is left of what that node had owned before it came back; 0: it has not.
    [[nodiscard]] std::uint64_t version_of_return(node_number n) { return admissions_[n]->version(); }
    [[nodiscard]] std::uint64_t latest_return() {
        std::uint64_t latest = 0;
        for (const auto& a : admissions_) latest = std::max(latest, a->version());
        return latest;
    }

    /// Times that a directory forgot what its object's home had to be told of.
    [[nodiscard]] std::size_t told_homes() const noexcept { return told_homes_; }

protected:
    using process = std::uint64_t;  ///< of a node; from 1 on, 0: none
    /// In front of each frame: the processes at both ends, as of a connection.
    struct ends {
        process from, to;
    };
    /// Of a frame, which is more than what would go over a connection.
    [[nodiscard]] static bool read_header(const std::string& frame, wire::header& h);
    [[nodiscard]] static std::string_view body_of(const std::string& frame) {
        return std::string_view{frame}.substr(sizeof(ends) + wire::header::size);
    }
    /// The site hears a frame and serves it, or its caller gets the answer.
    void take(node_number to, const std::string& frame);
    /// A frame has arrived: take() it, now or later.
    virtual void arrive(node_number to, const std::string& frame) { take(to, frame); }
    /// Somebody at that node watches the object, which has changed.
    virtual void heard_of_change(node_number at, const object_id& id) = 0;
    /// What no run may show.
    virtual void go_wrong(const char* what) = 0;
    /// That node takes the other one for gone, and so do its callers by now.
    virtual void heard_of_end(node_number at, node_number gone) { static_cast<void>(at), static_cast<void>(gone); }
    /// A site that is new, also of a node that is started again, before anything happens there; but for those that
    /// the mesh begins with.
    virtual void equip(site& fresh) { static_cast<void>(fresh); }
    /// A node that was started again has been let in.
    virtual void heard_of_return(node_number n) { static_cast<void>(n); }
    /// The node has ended, and nobody has noticed.
    void end_unseen(node_number n) noexcept { lives_[n] = life::ended; }
    /// Whether it is let in by now: it serves from then on.
    bool is_let_in(node_number n);
    /// Node `at`, unless it has ended, notices that the other one has.
    void lose(node_number at, node_number gone);

private:
    friend class caller;
    class teller;
    class doorman;

    enum class life : std::uint8_t { runs, ended, comes, again };
    void be_let_in(node_number n, process which, std::uint64_t notice);
    /// Whether what one has sent to the other arrives.
    [[nodiscard]] bool hears(node_number to, const wire::header& h, ends of);
    /// Whether node `at` knows that `other` is gone.
    [[nodiscard]] bool knows_gone(node_number at, node_number other);

    const moving how_;
    std::vector<std::unique_ptr<site>> sites_, former_;
    std::vector<life> lives_;
    std::vector<std::unique_ptr<teller>> tellers_;
    std::vector<std::unique_ptr<doorman>> doormen_;
    std::vector<std::unique_ptr<admission>> admissions_, former_admissions_;
    std::vector<process> processes_;           // that run, or have ended
    std::vector<std::vector<process>> links_;  // of a node, with which process of each other one it is connected
    std::size_t told_homes_ = 0;
    std::vector<caller*> callers_;  // by number
    wire::simulation network_;
};

/// The port of one thread of a node. Its number goes with every question, so that an answer finds it, and never comes
/// twice.
class caller : public network {
public:
    /// Callers are numbered in the order in which they are made.
    caller(mesh& in, node_number at);

    /// REQUIRES: on the stack that suspend() leaves.
    void exchange(std::span<call> calls) override;
    void begin(std::span<call> calls) override;
    void finish() override;
    void post(node_number to, wire::kind kind, std::string body) override;
    [[nodiscard]] bool hears(node_number node) const noexcept override;

    [[nodiscard]] node_number home() const noexcept { return home_; }
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    virtual void resume() = 0;

protected:
    /// Leaves the caller's stack until resume().
    virtual void suspend() = 0;
    /// Virtual time after which what has no answer is asked again; 0: never.
    [[nodiscard]] virtual std::uint64_t patience() const noexcept { return 0; }

    mesh& mesh_;

private:
    friend class mesh;

    /// Calls that are waited for together.
    struct round {
        std::span<call> calls;
        std::uint64_t first = 0;
        /// Or the node is given up.
        [[nodiscard]] bool complete() const noexcept;
    };

    void answer(std::uint64_t number, std::string_view body);
    void give_up_on(node_number gone);
    void start(round& r, std::span<call> calls);
    void await(round& r);
    /// Sends what has no answer, and again after a while.
    void ask(std::uint64_t first);

    const node_number home_;
    const unsigned number_;
    std::array<round, 2> rounds_;
    round &now_ = rounds_[0], &ahead_ = rounds_[1];
    const round* awaited_ = nullptr;
    std::uint64_t next_call_ = 1;
};

}  // namespace tutti::cluster::simulation
