// Serves the requests of programs to a member: decodes them, passes them to the node, and sends the node's answers.
//
//   MBR1  Requests that arrive while two batches are pending wait until one of these batches is answered, and are then
//         sent together (RFT4). So all waiting requests share the time of the disk and of the network.
//
// This class uses connections (`session`), but neither the port nor the disk. So a fuzzer can test this class with a
// node in memory.
//
// Not thread-safe: a `requests` object belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/backend/group_credentials.hpp"
#include "cluster/backend/group_protocol.hpp"
#include "cluster/backend/slots.hpp"
#include "cluster/replica/address_book.hpp"
#include "cluster/replica/data_directory.hpp"
#include "cluster/replica/raft_node.hpp"
#include "cluster/replica/sessions.hpp"

namespace tutti::cluster::replica {

class requests {
public:
    /// Makes the handler of requests. `secured` is null without TLS. The other arguments must outlive this object. The
    /// node must have answered all requests before this object is destroyed.
    requests(raft_node& by, sessions& from, const identity& who, std::shared_ptr<backend::group::credentials> secured,
             std::function<std::uint64_t()> connections_rejected);
    ~requests();
    requests(const requests&) = delete;
    requests& operator=(const requests&) = delete;

    /// Makes messages name members by the addresses in `where`, instead of those in the log. `where` must outlive this
    /// object.
    void name_members_by(const address_book& where) noexcept { address_book_ = &where; }
    /// Answers a request, now or later. Ends the connection if the body does not match the request's kind.
    void serve(const std::shared_ptr<session>& from, backend::group::request_kind what, std::string_view body);
    /// Sends the collected requests (MBR1). Call it when the loop has nothing else to do.
    void flush();
    /// Sends changes of the state to the programs that follow them.
    void send_changes_to_followers();
    /// From now on, answers every request with `leader_address`.
    void begin_shutdown() noexcept { shuts_down_ = true; }

    /// Returns this member's status.
    [[nodiscard]] backend::group::status_reply status() const;

private:
    struct request_batch;  // MBR1
    struct combined_commit;

    void serve_get(const std::shared_ptr<session>& from, backend::group::get_request asked);
    void serve_commit(const std::shared_ptr<session>& from, backend::group::commit_request asked);
    void serve_prepare(const std::shared_ptr<session>& from, backend::group::prepare_request asked);
    void serve_finish(const std::shared_ptr<session>& from, backend::group::finish_request asked);
    void serve_list(const std::shared_ptr<session>& from, backend::group::list_request asked);
    void serve_import(const std::shared_ptr<session>& from, backend::group::import_request asked);
    void serve_follow(const std::shared_ptr<session>& from, const backend::group::follow_request& asked);
    void serve_status(const std::shared_ptr<session>& from);
    void serve_change(const std::shared_ptr<session>& from, bool add, const backend::group::change_request& asked);
    [[nodiscard]] std::string address_of(const member& one) const {
        return address_book_ == nullptr ? one.address : address_book_->of(one.id, one.address);
    }
    [[nodiscard]] std::string leader_address() const;
    void redirect_to_leader(const std::shared_ptr<session>& to);
    /// Returns the batch that is being collected.
    [[nodiscard]] std::shared_ptr<request_batch> current_batch();
    void send_changes(session& to);

    raft_node& raft_node_;
    sessions& sessions_;
    const identity& identity_;
    const address_book* address_book_ = nullptr;
    const std::shared_ptr<backend::group::credentials> credentials_;
    const std::function<std::uint64_t()> connections_rejected_;
    std::shared_ptr<request_batch> collecting_;
    unsigned batches_ = 0;  // pending batches (MBR1)
    bool shuts_down_ = false;
};

}  // namespace tutti::cluster::replica
