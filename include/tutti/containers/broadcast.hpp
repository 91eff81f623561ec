/// @file
/// A channel that delivers messages to every listener, and that you can close.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tutti/containers/calls.hpp"
#include "tutti/memory.hpp"
#include "tutti/retry.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A broadcast channel. Each message goes to every listener that existed when the message was sent, in the order of the
/// sends. (The broadcast channels of Harris, Marlow, Peyton Jones, Herlihy have the same behavior: "Composable Memory
/// Transactions", PPoPP 2005.)
///
/// **Conflicts.** Two sends always conflict, because one must come first. A send also conflicts with the construction
/// and destruction of a listener. A receiving listener conflicts with a send only over the newest message. Two
/// listeners conflict over the message that both receive, because the last listener to receive the message destroys it.
///
/// **Exceptions.** An operation that throws, because a copy throws or memory runs out, has no effect. This also holds
/// if the block catches the exception and commits.
///
/// **Memory.** A message stays until every listener that existed when it was sent has received it. A slow listener
/// makes the memory grow.
///
/// @tparam T  any copyable type; a message is constant once it is sent
template <class T>
class broadcast {
    static_assert(detail::require_copyable<T>());

    struct link {
        // The last link has no message yet: it is the place of the next message.
        std::optional<T> message;
        var<link*> next{nullptr};
        var<std::size_t> is_awaited{0};  // number of listeners that have not received the message of this link yet
    };

public:
    using value_type = T;

    broadcast() : newest_{new link} {}
    broadcast(const broadcast&) = delete;
    broadcast& operator=(const broadcast&) = delete;
    /// REQUIRES: there are no listeners, and no transaction can reach the channel.
    ~broadcast() { detail::dispose(newest_.load()); }

    /// Sends the message to every present listener. O(1).
    /// @throws std::logic_error  if the channel is closed
    void send(tx& t, const T& message) {
        if (closed_.get(t)) throw std::logic_error{"tutti::broadcast::send: the channel is closed"};
        const std::size_t listeners = listeners_.get(t);
        if (listeners == 0) return;
        link* const last = newest_.get(t);
        detail::unlinked<1> made{t};
        link* const sent = made.template make<link>();
        sent->message.emplace(message);
        detail::reserve(t, 3, 0);
        made.keep();
        sent->is_awaited.set(t, listeners);
        last->next.set(t, sent);
        newest_.set(t, sent);
    }
    /// Closes the channel: every later send throws. Listeners still receive the messages that were sent before. O(1).
    void close(tx& t) { closed_.set(t, true); }
    [[nodiscard]] bool is_closed(tx& t) const { return closed_.get(t); }

    /// A listener of the channel, from its construction to its destruction. Several transactions may use a listener,
    /// but conflict with each other. REQUIRES: the channel outlives the listener, also if `destroy` runs the listener's
    /// destructor later. REQUIRES: no transaction can reach the listener during its destruction, except the one that
    /// destroys it.
    class listener {
    public:
        explicit listener(broadcast& to) : to_{to} {
            atomically([&](tx& t) {
                link* const newest = to_.newest_.get(t);
                to_.listeners_.set(t, to_.listeners_.get(t) + 1);
                to_.keep(t, newest);
                at_->set(t, newest);
            });
        }
        listener(const listener&) = delete;
        listener& operator=(const listener&) = delete;
        /// Ends the listener in a transaction of its own, or as part of the transaction that this thread runs. Neither
        /// a conflict nor an interruption leaves the destructor.
        ~listener() {
            const detail::destructor_scope scope;
            atomically([&](tx& t) {
                link* at = at_->get(t);
                if (at == nullptr) return;  // the block that made the listener was rolled back: nothing to remove
                to_.listeners_.set(t, to_.listeners_.get(t) - 1);
                // The loop uses a local pointer. In an attempt that has to restart, writes to `at_` would be dropped.
                while (link* const next = at->next.get(t)) to_.release(t, std::exchange(at, next));
                to_.release(t, at);
            });
        }

        /// Returns the next message. Returns nullopt if the channel is closed and all messages are received. Waits by
        /// `retry` if the next message has not been sent yet. O(1).
        [[nodiscard]] std::optional<T> receive(tx& t) {
            std::optional<T> message = try_receive(t);
            if (!message && !to_.closed_.get(t)) retry(t);
            return message;
        }
        /// Returns the next message, or nullopt if the sender has not sent it yet. O(1).
        [[nodiscard]] std::optional<T> try_receive(tx& t) {
            std::optional<T> message;  // the only return value, so that returning it needs no copy
            if (const link* const next = at_->get(t)->next.get(t)) {
                message.emplace(*next->message);
                pass(t);
            }
            return message;
        }
        /// Receives as a transaction of its own, or as part of the transaction that this thread runs.
        [[nodiscard]] std::optional<T> receive(std::source_location at = std::source_location::current()) {
            return atomically([&](tx& t) { return receive(t); }, at);
        }
        [[nodiscard]] std::optional<T> try_receive(std::source_location at = std::source_location::current()) {
            return atomically([&](tx& t) { return try_receive(t); }, at);
        }

    private:
        /// Advances to the next link. The sender of the message in that link has counted this listener.
        void pass(tx& t) {
            link* const before = at_->get(t);
            link* const next = before->next.get(t);
            detail::reserve(t, 2, 1);
            at_->set(t, next);
            to_.release(t, before);
        }

        struct disposing {
            void operator()(var<link*>* at) const noexcept { detail::dispose(at); }
        };

        broadcast& to_;
        // The link of the last received message, or the link where the listener began. This variable is not a member,
        // because the listener may be a local of a body. The commit writes the variable after the body has returned.
        std::unique_ptr<var<link*>, disposing> at_{new var<link*>{nullptr}};
    };

private:
    static void keep(tx& t, link* at) { at->is_awaited.set(t, at->is_awaited.get(t) + 1); }
    void release(tx& t, link* at) {
        const std::size_t left = at->is_awaited.get(t) - 1;
        at->is_awaited.set(t, left);
        if (left == 0 && at != newest_.get(t)) tutti::destroy(t, at);
    }

    var<link*> newest_;
    var<std::size_t> listeners_{0};
    var<bool> closed_{false};
};

}  // namespace tutti
