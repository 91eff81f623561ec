// Calls that run where their objects are: those of this server that others run, and those of others that it runs.
//
// Life of a call that goes elsewhere, seen by its owner:
//
//   mine -> offer() takes it -> sent -> ran ----------------------> end_elsewhere() -> mine
//                                   \-> declined ---> the executor's, as if it had never been offered
//                                   \-> elsewhere --> sent once more, to whom it was told -> ran, or declined
//                                   \-> the node is gone -> UNKNOWN -> mine
//
// F1  A call is sent to a second server, or run here, only when the one before has said that it has not run it, or the
//     bytes were not sent. So it runs once at most; whether it has run is unknown only where a node is gone which had
//     been sent the call and has not answered.
// F2  A server that is sent a call runs it itself or says that it does not: it passes none on.
// F3  Whoever takes a call out of `sent_` ends it, or sends it again; nobody else touches it from offer() on.
//
// Thread safety: every member.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "server/calls/timed_call.hpp"
#include "tutti/cluster/calls.hpp"

namespace tutti::server {

/// A call of another server: which one, and its number there.
struct call_origin {
    unsigned node = 0;
    std::uint64_t number = 0;  ///< 0: it is a call of this one
    friend bool operator==(const call_origin&, const call_origin&) = default;
};

/// What runs others' calls. Called by the thread that reads from nodes: must not wait.
class call_host {
public:
    /// `then` gets the answer and how the call ended, once; BUSY and SHUTDOWN say that it has not begun.
    virtual void host(const invocation& what, std::vector<std::string> arguments, call_origin from,
                      std::function<void(std::string_view, ending)> then) = 0;
    /// Ends it if it sleeps in `retry`, now or later.
    virtual void recall(call_origin which, bool stranded) noexcept = 0;
    /// The same for all of a node that is gone.
    virtual void recall_all_of(unsigned node) noexcept = 0;

protected:
    ~call_host() = default;
};

struct forwarding_figures {
    std::uint64_t forwarded = 0;  ///< that another server has run
    std::uint64_t received = 0;   ///< that it has run for others
    std::uint64_t declined = 0;   ///< sent, and run here after all
    std::uint64_t unknown = 0;    ///< sent to a node that went before it answered
    std::uint64_t awaited = 0;    ///< as it stands: sent, and not answered
};

class forwarding final : private cluster::call_handler {
public:
    /// They outlive it.
    forwarding(cluster::call_carrier& by, const catalog& known, executor& runs, call_host& hosts);
    /// REQUIRES: no call of this server is elsewhere.
    ~forwarding();

    /// From here on it is told of others' calls.
    void start() { by_.hand_calls_to(this); }
    /// And from here on of none.
    void stop() noexcept { by_.hand_calls_to(nullptr); }

    /// Takes a call that is about an object of another node, and has it end as one that was submitted to the executor
    /// does. False: it is still the caller's.
    [[nodiscard]] bool offer(timed_call& c) noexcept;
    /// Has it ended if it sleeps in `retry` elsewhere, now or later. REQUIRES: as executor::interrupt.
    void recall(timed_call& c, bool stranded) noexcept;

    [[nodiscard]] forwarding_figures look() const noexcept;

private:
    /// One that is elsewhere.
    struct sent {
        timed_call* what = nullptr;
        unsigned node = 0;
        std::size_t bytes = 0;
        cluster::object_id about;
        bool is_sent = false;  // false: whoever sends it still looks at it, and ends it where need be
        bool is_lost = false;  // the node went meanwhile
        bool recalled = false;
        bool for_good = false;
    };

    void run(unsigned from, std::uint64_t number, cluster::forwarded_call&& what) override;
    void recall(unsigned from, std::uint64_t number, bool stranded) override;
    void answer(unsigned to, std::uint64_t number, std::string_view bytes, ending how, protocol spoken) noexcept;
    void answered(unsigned from, std::uint64_t number, cluster::forwarded_answer&& how) override;
    void lose(unsigned node) noexcept override;

    [[nodiscard]] bool send(timed_call& c, unsigned node, const cluster::object_id& about, bool for_good);
    /// REQUIRES: the lock.
    sent forget(std::unordered_map<std::uint64_t, sent>::iterator which) noexcept;
    [[nodiscard]] bool is_avoided(unsigned node, instant now) const noexcept;
    void run_here(timed_call& c) noexcept;
    void end_unknown(timed_call& c, unsigned node) noexcept;

    static constexpr std::size_t most_nodes = 64;

    cluster::call_carrier& by_;
    const catalog& known_;
    executor& runs_;
    call_host& hosts_;
    mutable std::mutex guard_;  // of what follows; nothing is sent and no call is ended with it held
    std::unordered_map<std::uint64_t, sent> sent_;
    std::size_t bytes_ = 0;  // of their arguments
    std::uint64_t latest_ = 0;
    std::array<std::atomic<instant::rep>, most_nodes> avoided_until_{};
    std::atomic<std::uint64_t> forwarded_{0}, received_{0}, declined_{0}, unknown_{0};
};

}  // namespace tutti::server
