#include "server/calls/timeline.hpp"

#include <string>

#include "observe/json.hpp"

namespace tutti::server {
namespace {

double microseconds(std::chrono::nanoseconds of) { return static_cast<double>(of.count()) / 1000; }

constexpr std::uint64_t one = 1;

void name_of_thread(observe::json_writer& json, std::uint64_t worker) {
    json.line().begin_object().field("ph", "M").field("pid", one).field("tid", worker).field("name", "thread_name");
    json.key("args").begin_object().field("name", "worker " + std::to_string(worker)).end_object().end_object();
}

}  // namespace

void timeline::record_begin(unsigned w, const char* name, int priority, std::uint64_t call) noexcept {
    lane& l = lanes_[w];
    const std::scoped_lock lock{l.mutex};
    l.current = {name, "", priority, call, clock::now(), {}};
}

void timeline::record_end(unsigned w, const char* how) noexcept {
    lane& l = lanes_[w];
    const std::scoped_lock lock{l.mutex};
    if (l.current.name == nullptr) return;
    l.current.how = how;
    l.current.to = clock::now();
    // `start` has reserved enough room.
    if (l.slices.size() < l.slices.capacity()) l.slices.push_back(l.current);
    else ++l.dropped;
    l.current.name = nullptr;
}

void timeline::start() {
    const std::scoped_lock control{control_};
    is_recording_.store(false, std::memory_order_relaxed);
    for (lane& l : lanes_) {
        const std::scoped_lock lock{l.mutex};
        l.slices.clear();
        l.slices.reserve(max_slices);
        l.current.name = nullptr;
        l.dropped = 0;
    }
    started_ = clock::now();
    is_recording_.store(true, std::memory_order_relaxed);
}

std::string timeline::stop() {
    const std::scoped_lock control{control_};
    is_recording_.store(false, std::memory_order_relaxed);
    observe::json_writer json;
    json.begin_object().field("displayTimeUnit", "ns");
    // Tools that show traces of several servers align them by this start time.
    const std::chrono::nanoseconds began = started_.time_since_epoch();
    json.key("otherData").begin_object().field("began_ns", static_cast<std::uint64_t>(began.count())).end_object();
    json.key("traceEvents").begin_array();
    std::uint64_t left_out = 0;
    for (std::uint64_t w = 0; w < lanes_.size(); ++w) {
        // The text is composed without the lock, because a worker that records a slice needs the lock.
        std::vector<slice> slices;
        {
            lane& l = lanes_[w];
            const std::scoped_lock lock{l.mutex};
            slices.swap(l.slices);
            left_out += l.dropped;
        }
        name_of_thread(json, w);
        for (const slice& s : slices) {
            json.line().begin_object().field("ph", "X").field("pid", one).field("name", s.name).field("tid", w);
            json.field("ts", microseconds(s.from - started_)).field("dur", microseconds(s.to - s.from)).key("args");
            json.begin_object().field("call", s.call).field("priority", static_cast<std::uint64_t>(s.priority));
            json.field("then", s.how).end_object().end_object();
        }
    }
    json.line().begin_object().field("ph", "M").field("pid", one).field("name", "process_name").key("args");
    json.begin_object().field("name", "tutti").field("left_out", left_out).end_object().end_object();
    json.end_array().end_object();
    return json.text() + '\n';
}

}  // namespace tutti::server
