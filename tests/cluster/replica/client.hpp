// A program that uses a group. It asks the member that it considers the leader, and reads and commits. It resolves
// unanswered commits by a commit record, as backend/exactly_once.hpp does.
#pragma once

#include <string>
#include <vector>

#include "cluster/replica/group.hpp"
#include "cluster/replica/history_checker.hpp"
#include "cluster/replica/task.hpp"

namespace tutti::cluster::replica::testing {

class client {
public:
    struct habits {
        unsigned objects = 6;
        unsigned attempts = 12;
        instant request_timeout = 400 * ms;  ///< for one answer
        unsigned tries = 10;                 ///< to find out about a commit
    };

    client(event_queue& events, group& of, history_checker& truth, unsigned number, habits how);

    void start() { life_.start(); }
    [[nodiscard]] bool done() const noexcept { return life_.done(); }

    /// Reads every object until a member answers. REQUIRES: the task is awaited, or kept until it is done.
    [[nodiscard]] task<bool> read_all();
    [[nodiscard]] std::size_t resent() const noexcept { return resent_; }
    [[nodiscard]] std::size_t aborted() const noexcept { return aborted_; }
    /// Returns the number of gets whose state was no longer kept.
    [[nodiscard]] std::size_t outlived() const noexcept { return outlived_; }

private:
    struct outcome {
        backend::engine_status result = backend::engine_status::unknown;
        version at = 0;
    };
    task<bool> live();
    task<bool> attempt_once();
    /// Sends a question. Without an answer, returns unreachable with an empty `why`.
    task<answer> ask(question q);
    task<answer> get(question q);
    task<outcome> commit(question q);
    task<outcome> query_outcome();
    [[nodiscard]] awaited<bool> pause(instant how_long);
    /// Returns the check of a commit that uses the commit record.
    [[nodiscard]] backend::check record_unchanged() const;
    void switch_member(const answer& a);
    [[nodiscard]] std::string record_text(bool happened) const;

    event_queue& events_;
    group& group_;
    history_checker& past_;
    const unsigned number_;
    const habits how_;
    raft_id leader_ = 1;
    std::size_t attempt_ = 0;
    std::size_t resent_ = 0, aborted_ = 0, outlived_ = 0;

    backend::key record_key_;
    unsigned records_made_ = 0;
    std::uint64_t sequence_ = 0;
    version record_at_ = 0;

    task<bool> life_;
};

}  // namespace tutti::cluster::replica::testing
