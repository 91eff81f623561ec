#include "cluster/replica/raft_loop.hpp"

#include <memory>
#include <new>
#include <utility>

namespace tutti::cluster::replica {

bool write(uv_stream_t& to, std::string bytes, std::function<void()> sent) {
    struct outgoing {
        uv_write_t request{};
        std::string bytes;
        std::function<void()> sent;
    };
    auto mine = std::make_unique<outgoing>(outgoing{{}, std::move(bytes), std::move(sent)});
    mine->request.data = mine.get();
    const uv_buf_t all = ::uv_buf_init(mine->bytes.data(), static_cast<unsigned>(mine->bytes.size()));
    const int failed = ::uv_write(&mine->request, &to, &all, 1, [](uv_write_t* w, int) {
        const std::unique_ptr<outgoing> gone{static_cast<outgoing*>(w->data)};
        if (gone->sent) gone->sent();
    });
    if (failed != 0) return false;
    static_cast<void>(mine.release());
    return true;
}

event_loop::event_loop(unsigned clock_ms, std::function<void()> clock, std::function<void()> turn,
                       std::function<void()> called)
    : clock_{std::move(clock)}, turn_{std::move(turn)}, called_{std::move(called)} {
    if (::uv_loop_init(&loop_) != 0) throw std::bad_alloc{};
    timer_.data = check_.data = async_.data = this;
    ::uv_timer_init(&loop_, &timer_);
    ::uv_timer_start(&timer_, [](uv_timer_t* t) { static_cast<event_loop*>(t->data)->clock_(); }, clock_ms, clock_ms);
    ::uv_check_init(&loop_, &check_);
    ::uv_check_start(&check_, [](uv_check_t* c) { static_cast<event_loop*>(c->data)->turn_(); });
    if (::uv_async_init(&loop_, &async_, [](uv_async_t* a) { static_cast<event_loop*>(a->data)->called_(); }) != 0)
        throw std::bad_alloc{};
}

event_loop::~event_loop() {
    // After a failed start, some handles are still on the loop. They are closed here, without callbacks.
    ::uv_walk(
        &loop_,
        [](uv_handle_t* h, void*) {
            if (::uv_is_closing(h) == 0) ::uv_close(h, nullptr);
        },
        nullptr);
    run();
    ::uv_loop_close(&loop_);
}

void event_loop::close() {
    if (closed_) return;
    closed_ = true;
    ::uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
    ::uv_close(reinterpret_cast<uv_handle_t*>(&check_), nullptr);
    ::uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
}

}  // namespace tutti::cluster::replica
