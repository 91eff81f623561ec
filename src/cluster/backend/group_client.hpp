// Sends requests to the leader of a group. The client tries one member after the other, and follows the members' hints
// to the leader.
//
// After keep_learning_members, the client requests the list of members from a member once a second. So the client
// reaches the group while members are replaced, even if all addresses that the program was given are out of date.
//
//   GCL1  The client asks the leader. A follower may have been removed without learning of its removal, and may
//         continue for an unlimited time. A member's list is accepted only if the member has applied at least as much
//         of the log as the author of the last accepted list.
//   GCL2  A member whose own numeric address differs from the one that it was reached by is behind a tunnel or a proxy.
//         From this side of the tunnel, the addresses in that member's list may belong to other machines, so the list
//         is ignored.
//   GCL3  The client keeps the addresses that the program was given, and tries them after those of the list.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cluster/backend/backoff_timer.hpp"
#include "cluster/backend/connection_pool.hpp"
#include "cluster/backend/member_connection.hpp"

namespace tutti::cluster::backend::group {

class group_client {
public:
    /// Makes a client of the group with that number, or of the first group that answers if `number` is 0. Without
    /// credentials, connections are in the clear.
    group_client(std::vector<std::string> addresses, std::shared_ptr<credentials> secured, std::uint64_t number = 0);
    ~group_client();
    group_client(const group_client&) = delete;
    group_client& operator=(const group_client&) = delete;

    struct reply {
        reply_status status =
            reply_status::not_leader;  ///< done; refused; lost; or not_leader: no leader was found, and nothing is
                                       ///< done
        std::string message;           ///< if done, the answer's bytes after its status; otherwise the reason
    };
    /// Sends the request to the group, and waits for the answer. If `may_repeat` is false, the request is not sent
    /// twice, and the status is `lost` if the answer is lost.
    [[nodiscard]] reply ask(std::string request, bool may_repeat, std::chrono::milliseconds timeout);
    /// `begin` and `end` together do the same as `ask`, so that several groups can work at the same time. Call both on
    /// the same thread, and `end` at most once for each request.
    class pending_request;
    [[nodiscard]] std::shared_ptr<pending_request> begin(std::string request, bool may_repeat,
                                                         std::chrono::milliseconds timeout);
    [[nodiscard]] reply end(pending_request& q);
    /// Sends a request that has more than one answer. Returns the connection after the first answer, or null.
    [[nodiscard]] std::unique_ptr<member_connection> open_stream(const std::string& request,
                                                                 std::chrono::milliseconds timeout);
    /// Returns the group's number, or 0 if no member has answered yet.
    [[nodiscard]] std::uint64_t number() const;

    /// Learns the members now, and then once a second on a thread of the client. Call this function once.
    void keep_learning_members();
    /// Returns the addresses of the members that were learnt last, or an empty list if no members were learnt yet.
    [[nodiscard]] std::vector<std::string> members() const;
    /// Registers `callback`. The learning thread calls it soon, and whenever the members have changed. Replaces the
    /// earlier callback. When this function returns, the earlier callback is not running, and is never called again.
    void on_members_changed(std::function<void()> callback);

private:
    /// Requests the list of members from one member. Returns true if the leader has listed the members, or if the list
    /// must be ignored (GCL2). Otherwise the caller should soon try again.
    bool learn_members();
    [[nodiscard]] bool accept_members(const status_reply& status);
    std::unique_ptr<member_connection> acquire_connection(member_connection::clock::time_point deadline,
                                                          std::string& reason);
    void send(pending_request& q);
    /// Receives the answer. Returns nullopt if the client has to send the request again, to the next member.
    [[nodiscard]] std::optional<reply> receive(pending_request& q);
    [[nodiscard]] reply complete(pending_request& q);
    [[nodiscard]] std::string current_address() const;
    void switch_from(const std::string& address);
    /// Makes the member at `address` the next one to ask. Returns false if this member was just asked.
    bool switch_to(const std::string& address);

    const std::shared_ptr<credentials> secured_;
    mutable std::mutex guard_;
    std::vector<std::string> addresses_;
    std::size_t current_ = 0;
    std::uint64_t number_;
    const std::vector<std::string> given_;
    std::vector<std::string> learned_;
    std::uint64_t learned_at_ = 0;  // how much of the log the author of learned_ had applied (GCL1)
    std::mutex callback_guard_;     // held while callback_ runs
    std::function<void()> callback_;
    std::vector<std::string> reported_members_;  // the members at the last call of callback_
    connection_pool<member_connection> pool_;
    std::jthread learner_;  // declared last: the thread uses all members above
};

class group_client::pending_request {
private:
    friend class group_client;
    pending_request(std::string request, bool may_repeat, std::chrono::milliseconds timeout)
        : request_{std::move(request)}, may_repeat_{may_repeat}, timer_{timeout} {}

    const std::string request_;
    const bool may_repeat_;
    backoff_timer timer_;
    std::unique_ptr<member_connection> connection_;  // null if no member could be reached
    bool sent_ = false;
    std::string reason_;
};

/// Parses host:port,host:port. The hosts must be loopback addresses unless the traffic is `encrypted`. Throws
/// engine_error.
[[nodiscard]] std::vector<std::string> parse_members(std::string_view where, bool encrypted);
/// Parses the addresses of an engine: "//host:port,host:port" for one group, or several groups separated by semicolons.
/// Throws engine_error.
[[nodiscard]] std::vector<std::vector<std::string>> parse_groups(std::string_view where, bool encrypted);

/// Changes the group's members. Returns false, and sets `reason`, if this fails.
[[nodiscard]] bool request_member_change(const std::vector<std::string>& addresses,
                                         std::shared_ptr<credentials> secured, std::uint64_t number, request_kind what,
                                         const change_request& change, std::chrono::milliseconds timeout,
                                         std::string& reason);

}  // namespace tutti::cluster::backend::group
