// The connections of programs: incoming and outgoing frames, one request at a time, and the streams that they follow.
//
// A program that follows a stream but does not read its messages is disconnected before more than `max_waiting_bytes`
// bytes wait for it. While the member answers a request, it reads nothing more from that program. So a program cannot
// make the member keep more than one request.
//
// Not thread-safe: all sessions belong to the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <uv.h>

#include "cluster/backend/group_protocol.hpp"
#include "cluster/replica/identified_connection.hpp"

namespace tutti::cluster::replica {

class sessions;

/// One program's connection. The session is destroyed when the connection ends. Pending answers refer to a session by a
/// weak pointer.
class session : public std::enable_shared_from_this<session> {
public:
    /// Sends the answer to the session's request, and continues to read.
    void answer(std::string frame);
    /// Sends the next part of the stream that the program follows. Returns false if the program reads too slowly, and
    /// is disconnected.
    bool send_update(std::string frame);
    void end();
    /// Returns true if the program may admit and remove members.
    [[nodiscard]] bool has_member_rights() const noexcept { return has_member_rights_; }

    /// The stream that the program follows, if there is one.
    struct followed {
        std::string from, to;
        std::uint64_t place = 0;
        bool values = false;
    };
    std::unique_ptr<followed> follows;

private:
    friend class sessions;
    session(sessions& of, identified_connection a)
        : of_{of},
          socket_{a.socket},
          tls_{std::move(a.tls)},
          has_member_rights_{a.has_member_rights},
          input_{std::move(a.input)} {}
    void read();
    void receive(std::string_view part);
    void handle_frame();
    bool send(std::string bytes);
    bool send_raw(std::string bytes);

    sessions& of_;
    uv_tcp_t* socket_;                              // null once the session has ended
    const std::unique_ptr<wire::tls_session> tls_;  // null: in the clear
    const bool has_member_rights_;
    std::string input_;
    std::string chunk_;
    std::size_t waiting_bytes_ = 0;  // bytes to the program that the system has not accepted yet
    bool has_request_ = false;       // a request is pending
};

class sessions {
public:
    using serve = std::function<void(const std::shared_ptr<session>&, backend::group::request_kind, std::string_view)>;
    explicit sessions(serve how) : serve_{std::move(how)} {}

    /// Takes over a connection whose hello was accepted. Closes and frees the connection later.
    void add(identified_connection a);
    /// Sends a keep-alive message to each waiting program for which one is due (GPR2).
    void send_due_keepalives();
    template <class F>
    void for_each_follower(F&& what) {
        for (auto next = all_.begin(); next != all_.end();) {
            const std::shared_ptr<session> one = *next++;  // the session may end meanwhile
            if (one->follows) what(*one);
        }
    }
    void end_all();
    [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }

private:
    friend class session;
    serve serve_;
    std::chrono::steady_clock::time_point next_keepalive_{};
    std::list<std::shared_ptr<session>> all_;
};

}  // namespace tutti::cluster::replica
