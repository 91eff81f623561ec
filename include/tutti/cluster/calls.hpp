/// @file
/// Calls of procedures that one server of a cluster has another one run, over the connections of their nodes.
///
/// A call goes from the *first* server, whose client waits for it, to the node that owns the object which it is about.
/// That node's server runs it, or says that it does not: then nothing has been run there, and the first one goes on.
/// Nothing is sent twice. So a call runs once, or, if the other node goes, once or never.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster {

/// What another server is asked to run.
struct forwarded_call {
    std::string procedure;
    std::vector<std::string> arguments;
    object_id about;             ///< the object whose owner is wanted
    std::uint8_t priority = 0;   ///< as the first server's client, or the procedure, has it
    std::int64_t due_in_us = 0;  ///< its deadline, counted from the sending; 0: it has none, less: it has passed
    bool resp3 = false;          ///< how the answer is to be written
    bool for_good = false;       ///< it runs there wherever the object is: the sender has been told to go there
    template <class V>
    void fields(V& v) {
        v(procedure), v(arguments), v(about), v(priority), v(due_in_us), v(resp3), v(for_good);
    }
};

/// What has become of it.
enum class forwarded_fate : std::uint8_t {
    ran,        ///< or was refused as a call that arrives too late is: `answer` is what the client gets
    declined,   ///< not run: there is no server, no such procedure, or no room
    elsewhere,  ///< not run: `owner` has the object
};
constexpr forwarded_fate last(forwarded_fate) noexcept { return forwarded_fate::elsewhere; }

struct forwarded_answer {
    forwarded_fate fate{};
    std::uint16_t owner = 0;
    std::uint8_t ending = 0;  ///< as servers number how calls end
    std::string answer;
    template <class V>
    void fields(V& v) {
        v(fate), v(owner), v(ending), v(answer);
    }
};

/// A server, as its node sees it. Called by the thread that reads: must not wait. One call at a time.
class call_handler {
public:
    call_handler() = default;
    call_handler(const call_handler&) = delete;
    call_handler& operator=(const call_handler&) = delete;

    /// Another server's call. It is answered by call_carrier::answer, once, also before this returns.
    virtual void run(unsigned from, std::uint64_t number, forwarded_call&& what) = 0;
    /// The answer to that call is not wanted any more: if it sleeps in `retry`, it ends. `stranded`: because its server
    /// ends, and not because its client has gone.
    virtual void recall(unsigned from, std::uint64_t number, bool stranded) = 0;
    /// Of a call of this server.
    virtual void answered(unsigned from, std::uint64_t number, forwarded_answer&& how) = 0;
    /// The node is gone: it answers no call any more, and its server waits for no answer.
    virtual void lose(unsigned node) noexcept = 0;

protected:
    ~call_handler() = default;
};

/// A node, as its server sees it. Thread safety: every member.
class call_carrier {
public:
    call_carrier() = default;
    call_carrier(const call_carrier&) = delete;
    call_carrier& operator=(const call_carrier&) = delete;

    /// Tells `whom` of calls from now on; null: the node declines them. Returns when the node tells no other handler
    /// any more.
    virtual void hand_calls_to(call_handler* whom) = 0;
    [[nodiscard]] virtual unsigned number() const noexcept = 0;
    /// The node that owns the object as far as this one knows, without asking anybody: its home, which knows, where
    /// nothing else is known. A moment later it may be another.
    [[nodiscard]] virtual unsigned owner(const object_id& id) = 0;
    /// So many bytes of an answer fit into a message.
    [[nodiscard]] virtual std::size_t most_bytes() const noexcept = 0;
    /// False: it was not sent, because that node is gone.
    [[nodiscard]] virtual bool send(unsigned to, std::uint64_t number, const forwarded_call& what) = 0;
    virtual void recall(unsigned to, std::uint64_t number, bool stranded) = 0;
    /// Where there is no memory for it, the connection to that node ends: so its server does not wait for ever.
    virtual void answer(unsigned to, std::uint64_t number, const forwarded_answer& how) noexcept = 0;

protected:
    ~call_carrier() = default;
};

}  // namespace tutti::cluster
