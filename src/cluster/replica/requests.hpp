// What programs ask a member for: their requests, decoded, on their way to the seat, and its answers.
//
//   H1  what comes while two rounds are under way waits for one of them, and then goes out together (S4): so all
//       requests that wait share the time of the disk and of the network
//
// It knows connections (`session`), and neither the port nor the disk: a fuzzer attacks it over a seat in memory.
//
// Thread safety: none; the loop's thread.
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
    /// `secured` is null in the clear. The others outlive it, and what the seat has been asked for is answered before
    /// it goes.
    requests(seat& by, sessions& from, const identity& who, std::shared_ptr<backend::group::credentials> secured,
             std::function<std::uint64_t()> turned_away);
    ~requests();
    requests(const requests&) = delete;
    requests& operator=(const requests&) = delete;

    /// Members are named with the addresses of that book, which outlives it, and not with those of the log.
    void name_members_by(const address_book& where) noexcept { where_ = &where; }
    /// Answers it, now or later; or ends the connection, if the body is none of that question's.
    void serve(const std::shared_ptr<session>& from, backend::group::question what, std::string_view body);
    /// H1. Call it when the loop has nothing else to do.
    void flush();
    /// The state has changed.
    void tell_followers();
    /// From now on everything is answered with `elsewhere`.
    void end() noexcept { ending_ = true; }

    /// What this member says of itself.
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
    /// Takes what is asked into the round that is being gathered.
    [[nodiscard]] std::shared_ptr<round> this_round();
    void tell(session& to);

    seat& seat_;
    sessions& sessions_;
    const identity& who_;
    const address_book* where_ = nullptr;
    const std::shared_ptr<backend::group::credentials> secured_;
    const std::function<std::uint64_t()> turned_away_;
    std::shared_ptr<round> gathering_;
    unsigned rounds_ = 0;  // under way
    bool ending_ = false;
};

}  // namespace tutti::cluster::replica
