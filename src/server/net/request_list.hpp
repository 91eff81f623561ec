// The requests of an I/O thread: those whose calls the executor may have, and the memory of those that are done.
//
// Thread safety: not thread-safe. The owner of the thread's I/O uses the object.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "server/protocol/request.hpp"

namespace tutti::server {

class request_list {
public:
    explicit request_list(request_owner& owner) : owner_{owner} {
        spare_.reserve(max_spare);  // so that recycling a request needs no memory
    }

    /// Returns an unused request. The caller owns it until `recycle`. @throws std::bad_alloc
    [[nodiscard]] request& acquire() {
        if (spare_.empty()) return *new request{owner_};
        request* const r = spare_.back().release();
        spare_.pop_back();
        return *r;
    }
    void recycle(request& r) noexcept {
        std::unique_ptr<request> owned{&r};
        if (spare_.size() >= max_spare) return;
        r.reset();
        spare_.push_back(std::move(owned));  // there is room
    }

    /// Adds a request that is about to be submitted (REQ2).
    void add(request& r) noexcept {
        r.next = first_;
        r.previous = nullptr;
        if (first_ != nullptr) first_->previous = &r;
        first_ = &r;
        ++size_;
    }
    /// Removes a request that is completed.
    void remove(request& r) noexcept {
        (r.previous == nullptr ? first_ : r.previous->next) = r.next;
        if (r.next != nullptr) r.next->previous = r.previous;
        --size_;
    }
    /// Returns the request that was added last, or null. `request::next` is the one that was added before it.
    [[nodiscard]] request* first() const noexcept { return first_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

private:
    static constexpr std::size_t max_spare = 4096;

    request_owner& owner_;
    std::vector<std::unique_ptr<request>> spare_;
    request* first_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace tutti::server
