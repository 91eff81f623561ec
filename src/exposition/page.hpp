// A program's answer to an HTTP request.
#pragma once

#include <string>

namespace tutti::exposition {

struct page {
    int status = 200;  ///< the HTTP status
    std::string text{};
    std::string type = "text/plain; charset=utf-8";
};

}  // namespace tutti::exposition
