// What `tutti serve` tells its operator: lines of text, or of JSON for what collects them.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "tutti/server/service.hpp"

namespace tutti::tools {

class messages {
public:
    /// Says nothing below `least`.
    messages(bool as_json, server::severity least) : as_json_{as_json}, least_{least} {}

    /// One line: on the standard output, from warnings on on the standard error. What cannot be written is lost.
    void say(server::severity how, const std::string& line) const;

private:
    const bool as_json_;
    const server::severity least_;
};

}  // namespace tutti::tools
