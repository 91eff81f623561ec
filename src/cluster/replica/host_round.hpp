// What is asked for together (H1): each request holds its round until it is answered.
#pragma once

#include "cluster/replica/host.hpp"

namespace tutti::cluster::replica {

struct host::round {
    explicit round(host& of) : of_{of} {}
    ~round() {
        if (sent) --of_.rounds_;
    }
    round(const round&) = delete;
    round& operator=(const round&) = delete;

    host& of_;
    bool sent = false;
};

}  // namespace tutti::cluster::replica
