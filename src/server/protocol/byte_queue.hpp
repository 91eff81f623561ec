// A queue of bytes that are added at the end and removed from the front: a client's input, or output that the client
// has not read.
//
// BYQ1  The queue holds at most the bytes of the latest append, plus twice the bytes that were pending before that
//       append. On average, each byte is moved a bounded number of times.
// BYQ2  An empty queue keeps little memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti::server {

class byte_queue {
public:
    void append(std::string_view bytes) {
        if (start_ > bytes_.size() / 2) {
            bytes_.erase(0, start_);
            start_ = 0;
        }
        bytes_.append(bytes);
    }
    /// Returns the pending bytes. The view is valid until the next change.
    [[nodiscard]] std::string_view pending() const noexcept { return std::string_view{bytes_}.substr(start_); }
    /// Removes that many bytes from the front. REQUIRES: at least so many bytes are pending.
    void consume(std::size_t bytes) noexcept {
        start_ += bytes;
        if (start_ == bytes_.size()) clear();
    }
    void clear() noexcept {
        constexpr std::size_t kept = 65'536;
        if (bytes_.capacity() > kept) std::string{}.swap(bytes_);  // an assignment would keep the memory
        bytes_.clear();
        start_ = 0;
    }
    [[nodiscard]] bool empty() const noexcept { return start_ == bytes_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() - start_; }
    /// Returns the memory that the queue uses, in bytes.
    [[nodiscard]] std::size_t footprint() const noexcept { return bytes_.capacity(); }

private:
    std::string bytes_;
    std::size_t start_ = 0;
};

}  // namespace tutti::server
