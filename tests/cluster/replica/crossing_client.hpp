// A program that uses several groups. It runs the code of real programs, `sharded_engine` and `exactly_once`, over
// simulated groups. A kill can hit it at every wait, and it then starts anew.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/backend/exactly_once.hpp"
#include "cluster/backend/sharded_engine.hpp"
#include "cluster/history.hpp"
#include "cluster/replica/simulated_group.hpp"

namespace tutti::cluster::replica::testing {

class crossing_client {
public:
    struct habits {
        unsigned objects = 8;
        unsigned first = 2;  ///< number of groups that begin with objects
        unsigned attempts = 12;
        instant answer = 300 * ms;            ///< time limit for one answer
        instant request_timeout = 1500 * ms;  ///< time limit for a get or commit
    };
    /// The outcome of a writing attempt, as its program received it.
    struct attempt_outcome {
        cluster::testing::writer_tag tag = 0;
        backend::engine_status result = backend::engine_status::unknown;
        std::vector<key> writes;
    };

    crossing_client(event_queue& events, const std::vector<std::unique_ptr<group>>& groups,
                    cluster::testing::history& past, habits how)
        : events_{events}, groups_{groups}, past_{past}, how_{how}, stack_{events}, env_{events, stack_} {}
    ~crossing_client() { kill(); }
    crossing_client(const crossing_client&) = delete;
    crossing_client& operator=(const crossing_client&) = delete;

    void start() {
        stack_.start([this] { live(); });
    }
    /// Writes each object alone, so that no transaction holds it any more. Then reads all objects and the groups'
    /// records of slots. Runs until `done`.
    void start_last_look() {
        stack_.start([this] { look_last(); });
    }
    [[nodiscard]] bool done() const noexcept { return !stack_.runs(); }
    [[nodiscard]] bool commits() const noexcept { return commits_; }
    /// Kills the program as kill -9 does, in the middle of its work. Returns false if the program is idle.
    bool kill();
    void stop_until(instant when) noexcept { stack_.stop_until(when); }
    [[nodiscard]] skewed_clock& clock() noexcept { return env_.process_clock(); }

    [[nodiscard]] const std::vector<attempt_outcome>& outcomes() const noexcept { return outcomes_; }
    /// Returns, after the last look, the number of groups that claim each slot.
    [[nodiscard]] const std::vector<unsigned>& owners() const noexcept { return owners_; }
    [[nodiscard]] std::size_t crossings() const noexcept { return crossings_; }
    [[nodiscard]] static key name_of(std::uint64_t i) { return "o" + std::to_string(i); }
    /// Returns a description of reads that cannot be of one state, or an empty string.
    [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

private:
    /// A record of the same slot, which an odd attempt writes beside the object, and an even one erases.
    [[nodiscard]] key companion_of(std::uint64_t i) const;
    [[nodiscard]] static bool has_companion(cluster::testing::writer_tag by) { return by % 2 != 0; }
    void live();
    void look_last();
    void connect();
    void attempt_once();
    /// Opens objects in several steps. Returns false if the attempt is over.
    bool read_some(cluster::testing::writer_tag tag, std::vector<backend::check>& held);
    bool read(cluster::testing::writer_tag tag, backend::read_snapshot& state, backend::freshness how,
              std::vector<backend::check>& held, const std::vector<std::uint64_t>& wanted);
    backend::engine_status write(cluster::testing::writer_tag tag, std::vector<backend::check> held,
                                 const std::vector<std::uint64_t>& which);
    void pause(instant most) { env_.pause(std::chrono::milliseconds{events_.below(most) / ms}); }

    event_queue& events_;
    const std::vector<std::unique_ptr<group>>& groups_;
    cluster::testing::history& past_;
    const habits how_;
    simulated_stack stack_;
    simulated_env env_;
    std::unique_ptr<backend::sharded_engine> engine_;
    std::unique_ptr<backend::exactly_once> committer_;
    unsigned made_ = 0;
    bool commits_ = false;
    std::size_t crossings_ = 0;
    std::vector<attempt_outcome> outcomes_;
    std::vector<unsigned> owners_;
    std::string wrong_;
};

}  // namespace tutti::cluster::replica::testing
