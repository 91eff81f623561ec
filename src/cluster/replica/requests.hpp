// The requests of programs to a member: decodes them, passes them to the seat, and sends its answers.
//
//   H1  Requests that come while two rounds are pending wait for one of these, and are then sent together (S4). So all
//       waiting requests share the time of the disk and of the network.
//
// This class uses connections (`session`), but neither the port nor the disk. So a fuzzer can attack it over a seat in
// memory.
//
// Not thread-safe: it belongs to the loop's thread.
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
#include "cluster/replica/identity.hpp"
#include "cluster/replica/seat.hpp"
#include "cluster/replica/sessions.hpp"

namespace tutti::cluster::replica {

class requests {
public:
    /// Makes the handler of requests. `secured` is null in the clear. The other arguments outlive this object. The seat
    /// has answered all requests before this object is destroyed.
    requests(seat& by, sessions& from, const identity& who, std::shared_ptr<backend::group::credentials> secured,
             std::function<std::uint64_t()> turned_away);
    ~requests();
    requests(const requests&) = delete;
    requests& operator=(const requests&) = delete;

    /// Makes messages name members with the addresses of that book instead of the log's. The book outlives this object.
    void name_members_by(const address_book& where) noexcept { where_ = &where; }
    /// Answers a request, now or later. Ends the connection if the body does not match the question.
    void serve(const std::shared_ptr<session>& from, backend::group::question what, std::string_view body);
    /// Sends the collected requests (H1). Call it when the loop has nothing else to do.
    void flush();
    /// Tells followers that the state has changed.
    void tell_followers();
    /// Makes all further requests be answered with `elsewhere`.
    void end() noexcept { ending_ = true; }

    /// Returns this member's status.
    [[nodiscard]] backend::group::status_answer status() const;

private:
    struct round;  // H1
    struct committing;

    void serve_get(const std::shared_ptr<session>& from, backend::group::get_request asked);
    void serve_commit(const std::shared_ptr<session>& from, backend::group::commit_request asked);
    void serve_prepare(const std::shared_ptr<session>& from, backend::group::prepare_request asked);
    void serve_finish(const std::shared_ptr<session>& from, backend::group::finish_request asked);
    void serve_list(const std::shared_ptr<session>& from, backend::group::list_request asked);
    void serve_adopt(const std::shared_ptr<session>& from, backend::group::adopt_request asked);
    void serve_follow(const std::shared_ptr<session>& from, const backend::group::follow_request& asked);
    void serve_status(const std::shared_ptr<session>& from);
    void serve_change(const std::shared_ptr<session>& from, bool add, const backend::group::change_request& asked);
    [[nodiscard]] std::string address_of(const member& one) const {
        return where_ == nullptr ? one.address : where_->of(one.id, one.address);
    }
    [[nodiscard]] std::string elsewhere() const;
    void answer_elsewhere(const std::shared_ptr<session>& to);
    /// Returns the round that is being collected.
    [[nodiscard]] std::shared_ptr<round> this_round();
    void tell(session& to);

    seat& seat_;
    sessions& sessions_;
    const identity& who_;
    const address_book* where_ = nullptr;
    const std::shared_ptr<backend::group::credentials> secured_;
    const std::function<std::uint64_t()> turned_away_;
    std::shared_ptr<round> gathering_;
    unsigned rounds_ = 0;  // pending
    bool ending_ = false;
};

}  // namespace tutti::cluster::replica
