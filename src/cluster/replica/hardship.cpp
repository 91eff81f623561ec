#include "cluster/replica/hardship.hpp"

#if defined(TUTTI_CLUSTER_FAULTS)

#include <memory>
#include <thread>
#include <utility>

namespace tutti::cluster::replica {

struct disk_delay::round {
    uv_work_t request{};
    disk_delay* of = nullptr;
    std::size_t count = 0;  // writes that were finished when it began
};

void disk_delay::pass(std::function<void()> told) {
    if (injected_disk_delay.count() == 0 || closed_) return told();
    late_.push_back(std::move(told));
    if (!waits_) begin_round();
}

/// Waits on a thread of libuv's pool, as real disk operations do, so that the loop continues.
void disk_delay::begin_round() {
    auto mine = std::make_unique<round>();
    mine->request.data = mine.get();
    mine->of = this;
    mine->count = late_.size();
    const int failed = ::uv_queue_work(
        &loop_, &mine->request, [](uv_work_t*) { std::this_thread::sleep_for(injected_disk_delay); },
        [](uv_work_t* w, int) {
            const std::unique_ptr<round> over{static_cast<round*>(w->data)};
            disk_delay& d = *over->of;
            d.waits_ = false;
            if (d.closed_) return;
            d.tell(over->count);
            if (!d.late_.empty() && !d.waits_) d.begin_round();
        });
    if (failed != 0) return tell(late_.size());
    waits_ = true;
    static_cast<void>(mine.release());
}

void disk_delay::tell(std::size_t count) {
    for (; count > 0 && !late_.empty(); --count) {
        const auto first = std::move(late_.front());
        late_.pop_front();
        first();
    }
}

void disk_delay::close() {
    closed_ = true;
    tell(late_.size());
}

}  // namespace tutti::cluster::replica

#endif
