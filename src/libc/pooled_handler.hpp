// Handlers that a context uses again and again, because an allocation costs more than what they do. One that is deleted
// goes back to the pool that it came from; a context keeps as many as one of its transactions has ever used.
//
// Thread safety: none. A pool belongs to a context, whose handlers only it deletes.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "tutti/tx.hpp"

namespace tutti::libc {

template <class Handler>
class handler_pool {
public:
    handler_pool() = default;
    ~handler_pool() {
        while (idle_ != nullptr) ::operator delete(std::exchange(idle_, idle_->next));
    }
    handler_pool(const handler_pool&) = delete;
    handler_pool& operator=(const handler_pool&) = delete;

    /// Throws std::bad_alloc.
    template <class... Arguments>
    std::unique_ptr<Handler> make(Arguments&&... arguments) {
        void* at = idle_;
        if (at != nullptr) idle_ = idle_->next;
        else at = ::operator new(sizeof(Handler));
        auto* const made = ::new (at) Handler(std::forward<Arguments>(arguments)...);
        made->home_ = this;
        return std::unique_ptr<Handler>{made};
    }
    void put_back(void* at) noexcept { idle_ = ::new (at) idle{idle_}; }

private:
    struct idle {
        idle* next;
    };
    static_assert(sizeof(Handler) >= sizeof(idle));
    idle* idle_ = nullptr;
};

/// A handler of such a pool, the base of `Handler`, whose constructors and destructor do not throw.
template <class Handler>
class pooled_handler : public detail::handler {
public:
    static void operator delete(pooled_handler* h, std::destroying_delete_t) noexcept {
        handler_pool<Handler>& home = *h->home_;
        auto* const whole = static_cast<Handler*>(h);
        whole->~Handler();
        home.put_back(whole);
    }

private:
    friend class handler_pool<Handler>;
    handler_pool<Handler>* home_ = nullptr;
};

}  // namespace tutti::libc
