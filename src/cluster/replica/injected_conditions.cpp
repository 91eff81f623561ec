#include "cluster/replica/injected_conditions.hpp"

#if defined(TUTTI_CLUSTER_FAULTS)

#include <memory>
#include <thread>
#include <utility>

namespace tutti::cluster::replica {

struct delayed_disk_writes::delayed_batch {
    uv_work_t request{};
    delayed_disk_writes* of = nullptr;
    std::size_t count = 0;  // callbacks that waited when the delay began
};

void delayed_disk_writes::complete(std::function<void()> callback) {
    if (injected_disk_delay.count() == 0 || closed_) return callback();
    late_.push_back(std::move(callback));
    if (!is_waiting_) begin_batch();
}

/// Spends the delay on a thread of libuv's pool, where real disk operations run, too, so that the loop continues.
void delayed_disk_writes::begin_batch() {
    auto mine = std::make_unique<delayed_batch>();
    mine->request.data = mine.get();
    mine->of = this;
    mine->count = late_.size();
    const int failed = ::uv_queue_work(
        &loop_, &mine->request, [](uv_work_t*) { std::this_thread::sleep_for(injected_disk_delay); },
        [](uv_work_t* w, int) {
            const std::unique_ptr<delayed_batch> over{static_cast<delayed_batch*>(w->data)};
            delayed_disk_writes& d = *over->of;
            d.is_waiting_ = false;
            if (d.closed_) return;
            d.complete_first(over->count);
            if (!d.late_.empty() && !d.is_waiting_) d.begin_batch();
        });
    if (failed != 0) return complete_first(late_.size());
    is_waiting_ = true;
    static_cast<void>(mine.release());
}

void delayed_disk_writes::complete_first(std::size_t count) {
    for (; count > 0 && !late_.empty(); --count) {
        const auto first = std::move(late_.front());
        late_.pop_front();
        first();
    }
}

void delayed_disk_writes::close() {
    closed_ = true;
    complete_first(late_.size());
}

}  // namespace tutti::cluster::replica

#endif
