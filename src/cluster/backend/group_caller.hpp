// Asks the leader of a group. The caller asks one member after the other, and follows their hints to the leader.
//
// A caller that keeps learning asks a member for the list of members once a second. So the caller reaches the group
// while members are replaced, even if all addresses that the program was given are out of date.
//
//   D1  The leader is asked. A member that follows may have been removed without having heard of it, and may continue
//       for an unlimited time. A member's list is accepted only if the member has applied as much of the log as the
//       author of the last list.
//   D2  A member whose own numeric address differs from the one that it was reached by is behind a tunnel or a proxy.
//       The addresses of its list may be those of other machines, seen from here, so the list is ignored.
//   D3  The addresses that the program was given stay, after those of the list.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cluster/backend/group_link.hpp"
#include "cluster/backend/link.hpp"
#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend::group {

class caller {
public:
    /// Makes a caller of the group with that number, or of the first group that answers if `number` is 0. Without
    /// credentials, connections are in the clear.
    caller(std::vector<std::string> addresses, std::shared_ptr<credentials> secured, std::uint64_t number = 0);
    ~caller();
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;

    struct answer {
        outcome said = outcome::elsewhere;  ///< done; refused; lost; or elsewhere: no leader was found, and nothing is
                                            ///< done
        std::string message;                ///< the answer's bytes after its outcome; otherwise the reason
    };
    /// Asks the group. If the request may not be sent `twice`, a lost answer makes the outcome `lost`.
    [[nodiscard]] answer ask(std::string request, bool twice, std::chrono::milliseconds patience);
    /// Asks in two steps, so that several groups can be asked at once. Both run on one thread. Call `end` once, or
    /// never.
    class question_under_way;
    [[nodiscard]] std::shared_ptr<question_under_way> begin(std::string request, bool twice,
                                                            std::chrono::milliseconds patience);
    [[nodiscard]] answer end(question_under_way& q);
    /// Sends a request that has more than one answer. Returns the connection after the first answer, or null.
    [[nodiscard]] std::unique_ptr<link> follow(const std::string& request, std::chrono::milliseconds patience);
    /// Returns the group's number, or 0 until a member has answered.
    [[nodiscard]] std::uint64_t number() const;

    /// Learns the members now, and then once a second on a thread of its own until the end. Call it once.
    void keep_learning();
    /// Returns the addresses of the members as they were learnt last. Empty if none were learnt yet.
    [[nodiscard]] std::vector<std::string> members() const;
    /// Has the learning thread call `told` soon, and whenever the members have changed. Replaces the earlier function.
    /// When this returns, the earlier function does not run, and is not called any more.
    void on_new_members(std::function<void()> told);

private:
    /// Asks one member. Returns true if the leader has listed the members; otherwise the next call asks the next
    /// member.
    bool learn();
    [[nodiscard]] bool adopt(const status_answer& said);
    std::unique_ptr<link> take(link::clock::time_point late, std::string& why);
    void send(question_under_way& q);
    /// Receives the answer. Returns nothing if the caller has to send the request again, to the next member.
    [[nodiscard]] std::optional<answer> hear(question_under_way& q);
    [[nodiscard]] answer settle(question_under_way& q);
    [[nodiscard]] std::string current() const;
    void turn_from(const std::string& address);
    /// Makes `address` the next one to ask. Returns false if it was just asked.
    bool turn_to(const std::string& address);

    const std::shared_ptr<credentials> secured_;
    mutable std::mutex guard_;
    std::vector<std::string> addresses_;
    std::size_t current_ = 0;
    std::uint64_t number_;
    const std::vector<std::string> given_;
    std::vector<std::string> learned_;
    std::uint64_t learned_at_ = 0;  // the index in the log (D1)
    std::mutex telling_;            // held while told_ runs
    std::function<void()> told_;
    std::vector<std::string> told_of_;  // the members at its last call
    links<link> free_;
    std::jthread learner_;  // declared last: the thread uses all members above
};

class caller::question_under_way {
private:
    friend class caller;
    question_under_way(std::string request, bool twice, std::chrono::milliseconds patience)
        : request_{std::move(request)}, twice_{twice}, all_{patience} {}

    const std::string request_;
    const bool twice_;
    tries all_;
    std::unique_ptr<link> by_;  // null: no member could be reached
    bool sent_ = false;
    std::string why_;
};

/// Parses host:port,host:port. The hosts must be of loopback unless the traffic is `encrypted`. Throws refusal.
[[nodiscard]] std::vector<std::string> parse_members(std::string_view where, bool encrypted);
/// Parses the addresses of an engine: "//host:port,host:port" for one group, or several groups separated by semicolons.
/// Throws refusal.
[[nodiscard]] std::vector<std::vector<std::string>> parse_groups(std::string_view where, bool encrypted);

/// Changes the group's members. Returns false, and sets `why`, if this fails.
[[nodiscard]] bool ask_for_change(const std::vector<std::string>& addresses, std::shared_ptr<credentials> secured,
                                  std::uint64_t number, question what, const change_request& change,
                                  std::chrono::milliseconds patience, std::string& why);

}  // namespace tutti::cluster::backend::group
