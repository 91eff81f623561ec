#include "exposition/page_maker.hpp"

#include <pthread.h>
#include <signal.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace tutti::exposition {

void begin_page_thread() noexcept {
    ::pthread_setname_np(::pthread_self(), "tutti-pages");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

page_maker::page_maker(const std::function<page()>& make, page_callback deliver)
    : make_{make}, deliver_{std::move(deliver)} {
    thread_ = std::thread{[this] { work(); }};
}

void page_maker::request(client_id who) {
    {
        const std::scoped_lock lock{mutex_};
        waiting_.push_back(who);
    }
    changed_.notify_one();
}

void page_maker::forget(client_id who) noexcept {
    const std::scoped_lock lock{mutex_};
    std::erase(waiting_, who);
}

void page_maker::end() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        ended_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void page_maker::work() noexcept {
    begin_page_thread();
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
        if (ended_) return;
        // A client whose request arrives after this line gets the next page, because this page may be older than the
        // request.
        std::vector<client_id> whose = std::exchange(waiting_, {});
        lock.unlock();
        try {
            deliver_(std::move(whose), made());
        } catch (const std::bad_alloc&) {
            // The clients of this page get no answer. They wait until they give up, or until the server closes their
            // connections to admit other clients.
        }
        lock.lock();
    }
}

page page_maker::made() const try { return make_(); } catch (const std::exception& e) {
    return {.status = 500, .text = std::string{e.what()} + "\n"};
}

}  // namespace tutti::exposition
