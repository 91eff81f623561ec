// The one port of a member: a connection begins with a hello, and is then one of C-Raft's, or a program's.
//
// C-Raft has a transport of its own, which believes every caller that it is the member that it says. Here both sides
// say which group they are of, and a member is asked for by its id: one that has lost its disk has another id
// (identity.hpp), and is not taken for the one that it was.
//
// Thread safety: none; the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/backend/group_protocol.hpp"
#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {

class transport {
public:
    struct self {
        std::uint64_t id = 0;
        std::uint64_t group = 0;
        std::string address;
    };
    /// Gets a program's connection, which has been welcomed; closes it, and then `raft_free`s it.
    using take_program = std::function<void(uv_tcp_t*)>;
    /// A line for the operator.
    using say = std::function<void(const std::string&)>;

    /// Listens. Throws backend::refusal.
    transport(uv_loop_t& loop, self who, take_program take, say tell);
    /// REQUIRES: the loop has run until C-Raft has closed its transport.
    ~transport();
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    [[nodiscard]] raft_uv_transport* raft() noexcept;
    /// Now and then: ends connections that have not said what they are.
    void look_at_clock();

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace tutti::cluster::replica
