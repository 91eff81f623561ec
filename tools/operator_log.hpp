// Messages of `tutti serve`, `tutti node` and `tutti member` to their operator: lines of text, or of JSON for log
// collectors.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tutti/server/line_writer.hpp"
#include "tutti/server/service.hpp"

namespace tutti::tools {

/// Writes messages to the operator. Copies of an object write to the same place.
class operator_log {
public:
    /// Suppresses messages below `least`.
    operator_log(bool as_json, server::severity least);

    /// Writes one line: to the standard output, or to the standard error for warnings and errors. Never waits for the
    /// reader (line_writer). Lines that cannot be written are counted, and a later line reports their number.
    void write(server::severity how, const std::string& line) const;
    /// Waits until all lines are written, but at most `longest`.
    void flush(std::chrono::milliseconds longest) const noexcept;

private:
    const bool as_json_;
    const server::severity least_;
    std::shared_ptr<server::line_writer> error_;
    std::shared_ptr<server::line_writer> output_;  // equals error_ if both are one file, so that lines keep their order
};

/// At the end of a scope, waits until all lines are written, but at most for a second.
class flush_at_end {
public:
    explicit flush_at_end(const operator_log& of) : of_{of} {}
    ~flush_at_end() { of_.flush(std::chrono::seconds{1}); }
    flush_at_end(const flush_at_end&) = delete;
    flush_at_end& operator=(const flush_at_end&) = delete;

private:
    const operator_log of_;
};

}  // namespace tutti::tools
