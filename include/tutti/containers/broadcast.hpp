/// @file
/// A channel whose messages go to every listener, and which can be closed.
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

/// Every message goes to each listener that was there when it was sent, in the order of the sends (as the broadcast
/// channels of Harris, Marlow, Peyton Jones, Herlihy, "Composable Memory Transactions", PPoPP 2005).
///
/// **Who conflicts with whom.** Sends conflict with each other, since one must come first, and with listeners that come
/// and go. A listener that receives conflicts with a send only over the newest message, and with the other listeners
/// over the message that both receive: the last of them destroys it.
///
/// **Exceptions.** An operation that throws, because a copy does or memory runs out, has no effect, also where the
/// block catches that and commits.
///
/// **Memory.** A message stays until every listener of its time has received it. A listener that does not keep up makes
/// it grow.
///
/// @tparam T  any copyable type; a message is constant once it is sent
template <class T>
class broadcast {
    static_assert(detail::require_copyable<T>());

    struct link {
        // The last link is the place of the next message.
        std::optional<T> message;
        var<link*> next{nullptr};
        var<std::size_t> waited_for{0};  // by so many listeners that have not come past it
    };

public:
    using value_type = T;

    broadcast() : newest_{new link} {}
    broadcast(const broadcast&) = delete;
    broadcast& operator=(const broadcast&) = delete;
    /// REQUIRES: there are no listeners, and no transaction can reach the channel.
    ~broadcast() { detail::dispose(newest_.load()); }

    /// Sends to every listener of this moment. O(1).
    /// @throws std::logic_error  where the channel is closed
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
        sent->waited_for.set(t, listeners);
        last->next.set(t, sent);
        newest_.set(t, sent);
    }
    /// Nothing can be sent from now on. Listeners receive what has been sent before. O(1).
    void close(tx& t) { closed_.set(t, true); }
    [[nodiscard]] bool is_closed(tx& t) const { return closed_.get(t); }

    /// One that listens, from its making to its end. Used by one transaction at a time, or by several that conflict.
    /// REQUIRES: the channel outlives it, also where `destroy` has its destructor run later; no transaction can reach
    /// it when it is destroyed, but the one that destroys it.
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
        /// Ends in one transaction, or in the one that this thread runs. Neither a conflict nor an interruption leaves
        /// the destructor.
        ~listener() {
            const detail::destructor_scope scope;
            atomically([&](tx& t) {
                link* at = at_->get(t);
                if (at == nullptr) return;  // the block that made it was rolled back, so it does not listen
                to_.listeners_.set(t, to_.listeners_.get(t) - 1);
                // By a pointer of its own: in an attempt that has to start over, writes to `at_` would be dropped.
                while (link* const next = at->next.get(t)) to_.let_go(t, std::exchange(at, next));
                to_.let_go(t, at);
            });
        }

        /// The next message; nothing where the channel is closed and all has been received. Waits by `retry` where
        /// there is none yet. O(1).
        [[nodiscard]] std::optional<T> receive(tx& t) {
            std::optional<T> message = try_receive(t);
            if (!message && !to_.closed_.get(t)) retry(t);
            return message;
        }
        /// The next message, or nothing where there is none yet. O(1).
        [[nodiscard]] std::optional<T> try_receive(tx& t) {
            std::optional<T> message;  // the only thing to return, so that nothing copies it
            if (const link* const next = at_->get(t)->next.get(t)) {
                message.emplace(*next->message);
                pass(t);
            }
            return message;
        }
        /// The same, each as a transaction of its own, or as part of the one that this thread runs.
        [[nodiscard]] std::optional<T> receive(std::source_location at = std::source_location::current()) {
            return atomically([&](tx& t) { return receive(t); }, at);
        }
        [[nodiscard]] std::optional<T> try_receive(std::source_location at = std::source_location::current()) {
            return atomically([&](tx& t) { return try_receive(t); }, at);
        }

    private:
        /// Goes on to the next link, whose sender has counted this listener.
        void pass(tx& t) {
            link* const before = at_->get(t);
            link* const next = before->next.get(t);
            detail::reserve(t, 2, 1);
            at_->set(t, next);
            to_.let_go(t, before);
        }

        struct disposing {
            void operator()(var<link*>* at) const noexcept { detail::dispose(at); }
        };

        broadcast& to_;
        // The message that it received last, or the place where it began. Not in the listener itself, which may be a
        // local of a body: the commit writes where it is when the body has returned.
        std::unique_ptr<var<link*>, disposing> at_{new var<link*>{nullptr}};
    };

private:
    static void keep(tx& t, link* at) { at->waited_for.set(t, at->waited_for.get(t) + 1); }
    void let_go(tx& t, link* at) {
        const std::size_t left = at->waited_for.get(t) - 1;
        at->waited_for.set(t, left);
        if (left == 0 && at != newest_.get(t)) tutti::destroy(t, at);
    }

    var<link*> newest_;
    var<std::size_t> listeners_{0};
    var<bool> closed_{false};
};

}  // namespace tutti
