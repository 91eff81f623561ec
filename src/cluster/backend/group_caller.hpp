// Questions to the leader of a group. The caller asks one member after the other, and goes where one of them points.
//
// Thread safety: every member.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cluster/backend/group_link.hpp"
#include "cluster/backend/link.hpp"
#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend::group {

class caller {
public:
    /// Of the group with that number, or of the first that answers if that is 0; in the clear without credentials.
    caller(std::vector<std::string> addresses, std::shared_ptr<credentials> secured, std::uint64_t number = 0);

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

private:
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
    links<link> free_;
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
