// Runs calls where their objects are: sends calls of this server to other servers, and runs calls of other servers.
//
// The states of a call that runs on another server, as its owner sees them:
//
//   mine -> offer() takes it -> sent -> ran ----------------------> end_without_run() -> mine
//                                   \-> declined ---> the executor's, as if it had never been offered
//                                   \-> elsewhere --> sent again, to the node that the answer names -> ran, or declined
//                                   \-> the node is lost -> INDOUBT -> mine
//
// FWD1  A call is sent to a second server, or run here, only if the first server has answered that it has not run the
//       call, or if the bytes were not sent. So a call runs at most once. The outcome of a call is unknown if the call
//       was sent to a node that is lost before it has answered. The outcome is also unknown if memory runs out while
//       the call or its answer is sent. An outcome that only newer servers know counts as unknown, too.
// FWD2  A server that receives a call either runs the call or answers that it does not run the call. That server does
//       not forward the call.
// FWD3  The thread that takes a call out of `sent_` ends the call, sends it again, or lets this server run it. No other
//       thread touches the call after offer().
//
// Thread safety: all members are thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "server/calls/timed_call.hpp"
#include "tutti/cluster/calls.hpp"

namespace tutti::server {

/// Identifies a call of another server: the node, and the call's number there.
struct call_origin {
    unsigned node = 0;
    std::uint64_t number = 0;  ///< 0: a call of this server
    friend bool operator==(const call_origin&, const call_origin&) = default;
};

/// Runs calls of other servers. The thread that reads from nodes calls this object, so its functions must not block.
class call_host {
public:
    /// Runs a call. Calls `then` once, with the answer and how the call ended. BUSY and SHUTDOWN mean that the call has
    /// not begun.
    virtual void host(const invocation& what, std::vector<std::string> arguments, call_origin from,
                      std::function<void(std::string_view, call_outcome)> then) = 0;
    /// Ends the call as soon as it sleeps in `retry`.
    virtual void cancel(call_origin which, bool stranded) noexcept = 0;
    /// Ends each call of a lost node as soon as the call sleeps in `retry`.
    virtual void cancel_all_of(unsigned node) noexcept = 0;

protected:
    ~call_host() = default;
};

struct forwarding_statistics {
    std::uint64_t forwarded = 0;  ///< run by another server
    std::uint64_t received = 0;   ///< run here for other servers
    std::uint64_t declined = 0;   ///< sent, but finally run here
    std::uint64_t unknown = 0;    ///< sent, and their outcome is unknown (FWD1)
    std::uint64_t awaited = 0;    ///< current number: sent, and not answered
};

class forwarding final : private cluster::call_handler {
public:
    /// REQUIRES: the arguments outlive this object.
    forwarding(cluster::call_transport& transport, const catalog& procedures, executor& runs, call_host& host);
    /// REQUIRES: no call of this server is at another server.
    ~forwarding();

    /// Starts to receive calls of other servers.
    void start() { transport_.set_call_handler(this); }
    /// Stops receiving calls of other servers.
    void stop() noexcept { transport_.set_call_handler(nullptr); }

    /// Accepts a call about an object of another node, and sends the call there. The call then ends like a call that
    /// was submitted to the executor. Returns false if the call is not accepted and still belongs to the caller.
    [[nodiscard]] bool offer(timed_call& c) noexcept;
    /// Makes the call end as soon as it sleeps in `retry` on another server. REQUIRES: as executor::interrupt.
    void cancel(timed_call& c, bool stranded) noexcept;

    [[nodiscard]] forwarding_statistics statistics() const noexcept;

private:
    /// A call that was sent to another server.
    struct sent_call {
        timed_call* what = nullptr;
        unsigned node = 0;
        std::size_t bytes = 0;
        cluster::object_id routing_object;
        // false: the sending thread still uses the call, and must end the call if necessary
        bool is_sent = false;
        bool is_lost = false;  // the node was lost meanwhile
        bool is_cancelled = false;
        bool no_redirect = false;
    };

    void run(unsigned from, std::uint64_t number, cluster::forwarded_call&& what) override;
    void cancel(unsigned from, std::uint64_t number, bool stranded) override;
    void send_reply(unsigned to, std::uint64_t number, std::string_view bytes, call_outcome how,
                    protocol spoken) noexcept;
    void on_reply(unsigned from, std::uint64_t number, cluster::forwarded_reply&& how) override;
    void on_node_lost(unsigned node) noexcept override;

    [[nodiscard]] bool send(timed_call& c, unsigned node, const cluster::object_id& routing_object, bool no_redirect);
    /// REQUIRES: mutex_ is locked.
    sent_call remove_sent(std::unordered_map<std::uint64_t, sent_call>::iterator which) noexcept;
    [[nodiscard]] bool is_avoided(unsigned node, instant now) const noexcept;
    void run_here(timed_call& c) noexcept;
    void end_unknown(timed_call& c, unsigned node) noexcept;

    static constexpr std::size_t max_nodes = 64;

    cluster::call_transport& transport_;
    const catalog& procedures_;
    executor& runs_;
    call_host& host_;
    // guards the members below; not held while sending a message or ending a call
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, sent_call> sent_;
    std::size_t bytes_ = 0;  // bytes of the arguments in sent_
    std::uint64_t latest_ = 0;
    std::array<std::atomic<instant::rep>, max_nodes> avoided_until_{};
    std::atomic<std::uint64_t> forwarded_{0}, received_{0}, declined_{0}, unknown_{0};
};

}  // namespace tutti::server
