#include "server/timeline.hpp"

#include <algorithm>
#include <cstdio>

namespace tutti::server {
namespace {

/// Appends what printf makes. Names of procedures are printable, but may hold what JSON would misread.
template <class... A>
void append(std::string& to, const char* format, A... values) {
    char text[256];
    const int n = std::snprintf(text, sizeof text, format, values...);
    to.append(text, static_cast<std::size_t>(std::min<int>(n, sizeof text - 1)));
}

std::string quoted(const char* name) {
    std::string text = "\"";
    for (const char* c = name; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\') text += '\\';
        text += *c;
    }
    return text + '"';
}

double microseconds(std::chrono::nanoseconds of) { return static_cast<double>(of.count()) / 1000; }

}  // namespace

void timeline::note_begin(unsigned w, const char* name, int priority, std::uint64_t call) noexcept {
    lane& l = lanes_[w];
    const std::scoped_lock lock{l.mutex};
    l.open = {name, "", priority, call, clock::now(), {}};
}

void timeline::note_end(unsigned w, const char* how) noexcept {
    lane& l = lanes_[w];
    const std::scoped_lock lock{l.mutex};
    if (l.open.name == nullptr) return;
    l.open.how = how;
    l.open.to = clock::now();
    // Its room was made by `start`.
    if (l.slices.size() < l.slices.capacity()) l.slices.push_back(l.open);
    else ++l.left_out;
    l.open.name = nullptr;
}

void timeline::start() {
    const std::scoped_lock control{control_};
    records_.store(false, std::memory_order_relaxed);
    for (lane& l : lanes_) {
        const std::scoped_lock lock{l.mutex};
        l.slices.clear();
        l.slices.reserve(most_slices);
        l.open.name = nullptr;
        l.left_out = 0;
    }
    started_ = clock::now();
    records_.store(true, std::memory_order_relaxed);
}

std::string timeline::stop() {
    const std::scoped_lock control{control_};
    records_.store(false, std::memory_order_relaxed);
    std::string json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    std::size_t left_out = 0;
    for (std::size_t w = 0; w < lanes_.size(); ++w) {
        // Made into text without the lock, which a worker that is just noting something waits for.
        std::vector<slice> slices;
        {
            lane& l = lanes_[w];
            const std::scoped_lock lock{l.mutex};
            slices.swap(l.slices);
            left_out += l.left_out;
        }
        append(json,
               "{\"ph\":\"M\",\"pid\":1,\"tid\":%zu,\"name\":\"thread_name\",\"args\":{\"name\":\"worker %zu\"}},\n", w,
               w);
        for (const slice& s : slices) {
            json += "{\"ph\":\"X\",\"pid\":1,\"name\":" + quoted(s.name);
            append(json,
                   ",\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"call\":%llu,\"priority\":%d,\"then\":\"%s\"}},\n",
                   w, microseconds(s.from - started_), microseconds(s.to - s.from),
                   static_cast<unsigned long long>(s.call), s.priority, s.how);
        }
    }
    append(json,
           "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"tutti\",\"left_out\":%zu}}\n]}\n",
           left_out);
    return json;
}

}  // namespace tutti::server
