// Serves the observers of a node, over any transport. An observer belongs to no cluster, and requests information from
// a node: `status`, `timeline` and `doubts`. This class limits the number of observers and the rate of their requests,
// and makes the answers. Each observer has at most one pending request.
//
// An observer cannot change what nodes agree on, except by `resolve_doubt`, by which an operator decides a transaction
// whose outcome no node knows. From a request's header, this class uses only the fields that identify the request. For
// example, it ignores the header's clock. The transport disconnects an observer that sends anything else, or that is
// silent for as long as nodes wait for each other.
//
// Thread safety: any thread may call `describe`. Only the reading thread may call the other members.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "observe/counter.hpp"
#include "wire/observable.hpp"

namespace tutti::wire {

class observer_server {
public:
    observer_server(node_number self, observable& node) noexcept : self_{self}, node_{node} {}
    observer_server(const observer_server&) = delete;
    observer_server& operator=(const observer_server&) = delete;

    /// An observer that has sent its hello. The object lives for as long as the observer is connected.
    class observer_session {
    public:
        explicit observer_session(observer_server& at) noexcept : server_{at} {
            server_.connected_.fetch_add(1, std::memory_order_relaxed);
        }
        ~observer_session();
        observer_session(const observer_session&) = delete;
        observer_session& operator=(const observer_session&) = delete;

    private:
        observer_server& server_;
    };

    /// Returns true if no more observers are admitted. Then the caller must send the frame of rejection() to a new
    /// observer.
    [[nodiscard]] bool is_full() const noexcept { return connected_.load(std::memory_order_relaxed) >= max_observers; }
    [[nodiscard]] std::string rejection();
    /// Returns the number of bytes that follow the header `question`, or nothing if it is not the header of a valid
    /// request.
    [[nodiscard]] static std::optional<std::size_t> body_size(std::string_view question);
    /// Returns the frame that answers a question, or nothing if the question is invalid.
    /// REQUIRES: `body` has the length that body_size() has returned.
    [[nodiscard]] std::optional<std::string> reply_to(const observer_session& to, std::string_view question,
                                                      std::string_view body);
    /// Counts an observer that was disconnected because it sent something other than a request.
    void count_disconnected() noexcept { disconnected_.add_one(); }
    void describe(cluster::node_status& to) const noexcept;

private:
    [[nodiscard]] timeline_reply execute(const observer_session& v, timeline_order what);
    template <class Reply>
    [[nodiscard]] std::string frame(std::uint64_t call, message_type what, const Reply& reply) const;

    const node_number self_;
    observable& node_;
    const observer_session* recording_session_ = nullptr;  // the observer that the node records for
    std::atomic<std::uint32_t> connected_{0};
    observe::counter refused_, disconnected_;
};

}  // namespace tutti::wire
