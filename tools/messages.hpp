// What `tutti serve`, `tutti node` and `tutti member` tell their operator: lines of text, or of JSON for programs that
// collect them.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tutti/server/line_writer.hpp"
#include "tutti/server/service.hpp"

namespace tutti::tools {

/// Copies write to the same place.
class messages {
public:
    /// Says nothing below `least`.
    messages(bool as_json, server::severity least);

    /// Says one line: on the standard output, from warnings on on the standard error. Never waits for whoever reads it
    /// (line_writer); lines that cannot be written are counted, and a later line says how many.
    void say(server::severity how, const std::string& line) const;
    /// Waits until what was said is written, but no longer than `longest`.
    void flush(std::chrono::milliseconds longest) const noexcept;

private:
    const bool as_json_;
    const server::severity least_;
    std::shared_ptr<server::line_writer> error_;
    std::shared_ptr<server::line_writer> output_;  // the same where both are one file, so that lines keep their order
};

/// At the end of a scope: waits until what was said is written, but for no longer than a second.
class flush_at_end {
public:
    explicit flush_at_end(const messages& of) : of_{of} {}
    ~flush_at_end() { of_.flush(std::chrono::seconds{1}); }
    flush_at_end(const flush_at_end&) = delete;
    flush_at_end& operator=(const flush_at_end&) = delete;

private:
    const messages of_;
};

}  // namespace tutti::tools
