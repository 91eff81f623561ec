// Connections that one thread uses at a time: taken, given back if they are sound, and opened where none is free.
//
// Thread safety: every member of the pool.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace tutti::cluster::backend {

/// `Link` is what a connection is kept in; its destructor closes it.
template <class Link>
class links {
public:
    [[nodiscard]] std::unique_ptr<Link> take() {
        const std::lock_guard hold{guard_};
        if (free_.empty()) return nullptr;
        std::unique_ptr<Link> one = std::move(free_.back());
        free_.pop_back();
        return one;
    }
    void give_back(std::unique_ptr<Link> one) {
        const std::lock_guard hold{guard_};
        free_.push_back(std::move(one));
    }
    /// One has broken: the others were opened to the same engine, which may be another process by now.
    void drop_all() {
        std::vector<std::unique_ptr<Link>> dropped;
        const std::lock_guard hold{guard_};
        dropped.swap(free_);
    }

private:
    std::mutex guard_;
    std::vector<std::unique_ptr<Link>> free_;
};

}  // namespace tutti::cluster::backend
