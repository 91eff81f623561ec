// Questions to the leader of a group. The caller asks one member after the other, and goes where one of them points.
//
// A caller that keeps learning asks a member for the list of members once a second. So it reaches the group while
// members are replaced, also when no member has an address any more that the program was given.
//
//   D1  The leader is asked. A member that follows may have been removed without having heard of it, and go on for as
//       long as it likes; its list counts only if it has applied as much of the log as the author of the last list.
//   D2  A member that goes by another number than the one that it was reached by is behind a tunnel or a proxy. The
//       numbers of its list may be those of other machines, seen from here, so the list is ignored.
//   D3  The addresses that the program was given stay, behind those of the list.
//
// Thread safety: every member.
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
    /// Of the group with that number, or of the first that answers if that is 0; in the clear without credentials.
    caller(std::vector<std::string> addresses, std::shared_ptr<credentials> secured, std::uint64_t number = 0);
    ~caller();
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;

    struct answer {
        outcome said = outcome::elsewhere;  ///< done; refused; lost; or elsewhere: no leader was found, nothing is done
        std::string message;                ///< the answer's bytes behind its outcome; otherwise why
    };
    /// What may not be asked twice is lost as soon as its answer is.
    [[nodiscard]] answer ask(std::string request, bool twice, std::chrono::milliseconds patience);
    /// The same in two steps, so that several groups can be asked at once. One thread; `end` once, or not at all.
    class question_under_way;
    [[nodiscard]] std::shared_ptr<question_under_way> begin(std::string request, bool twice,
                                                            std::chrono::milliseconds patience);
    [[nodiscard]] answer end(question_under_way& q);
    /// The same, for what goes on after its first answer: the connection, or null.
    [[nodiscard]] std::unique_ptr<link> follow(const std::string& request, std::chrono::milliseconds patience);
    /// 0 until a member has answered.
    [[nodiscard]] std::uint64_t number() const;

    /// Learns the members now, and on a thread of its own once a second until the end. Once.
    void keep_learning();
    /// The addresses of the members as they were learned last; empty: none have been.
    [[nodiscard]] std::vector<std::string> members() const;
    /// Has the learning thread call `told` soon, and whenever the members have changed, in place of what was given
    /// before. When this returns, the function that was given before does not run, and is not called any more.
    void on_new_members(std::function<void()> told);

private:
    /// Asks one member. Returns whether the leader has listed the members; otherwise the next call asks the next
    /// member.
    bool learn();
    [[nodiscard]] bool adopt(const status_answer& said);
    std::unique_ptr<link> take(link::clock::time_point late, std::string& why);
    void send(question_under_way& q);
    /// Nothing: the caller sends it again, to the member that is next in turn.
    [[nodiscard]] std::optional<answer> hear(question_under_way& q);
    [[nodiscard]] answer settle(question_under_way& q);
    [[nodiscard]] std::string current() const;
    void turn_from(const std::string& address);
    /// False: it is where we have asked.
    bool turn_to(const std::string& address);

    const std::shared_ptr<credentials> secured_;
    mutable std::mutex guard_;
    std::vector<std::string> addresses_;
    std::size_t current_ = 0;
    std::uint64_t number_;
    const std::vector<std::string> given_;
    std::vector<std::string> learned_;
    std::uint64_t learned_at_ = 0;  // in the log (D1)
    std::mutex telling_;            // held while told_ runs
    std::function<void()> told_;
    std::vector<std::string> told_of_;  // the members when it was called last
    links<link> free_;
    std::jthread learner_;  // the last: the thread uses all of the above
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

/// host:port,host:port, of loopback unless what goes there is `encrypted`. Throws refusal.
[[nodiscard]] std::vector<std::string> parse_members(std::string_view where, bool encrypted);
/// Addresses of an engine: "//host:port,host:port", of one group or, between semicolons, of several. Throws refusal.
[[nodiscard]] std::vector<std::vector<std::string>> parse_groups(std::string_view where, bool encrypted);

/// A change of the group's members: `change` is made, or false and `why`.
[[nodiscard]] bool ask_for_change(const std::vector<std::string>& addresses, std::shared_ptr<credentials> secured,
                                  std::uint64_t number, question what, const change_request& change,
                                  std::chrono::milliseconds patience, std::string& why);

}  // namespace tutti::cluster::backend::group
