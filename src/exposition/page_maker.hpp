// A thread that makes a page, once for all clients that wait for the page.
//
// Thread safety: any thread may call `request` and `forget`. Only the owner calls the other functions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "exposition/page.hpp"

namespace tutti::exposition {

using client_id = std::uint64_t;

/// Names the calling thread, and blocks all signals in it, so that only the program's own threads receive signals.
void begin_page_thread() noexcept;

class page_maker {
public:
    using page_callback = std::function<void(std::vector<client_id> whose, page made)>;

    /// Starts the thread, which calls `deliver`. REQUIRES: `make` outlives it. @throws std::system_error
    page_maker(const std::function<page()>& make, page_callback deliver);
    ~page_maker() { end(); }
    page_maker(const page_maker&) = delete;
    page_maker& operator=(const page_maker&) = delete;

    /// Requests a page for `who`. The thread begins to make that page after this call. @throws std::bad_alloc
    void request(client_id who);
    /// Removes `who` from the waiting clients. A page that is being made may still be given to `who`.
    void forget(client_id who) noexcept;
    /// Ends the thread after it has made the page in progress.
    void end() noexcept;

private:
    void work() noexcept;
    [[nodiscard]] page made() const;

    const std::function<page()>& make_;
    const page_callback deliver_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<client_id> waiting_;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace tutti::exposition
