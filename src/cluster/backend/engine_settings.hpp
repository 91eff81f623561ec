// The settings that a backend receives from engine_options.
#pragma once

#include "cluster/backend/address.hpp"
#include "cluster/backend/tls_files.hpp"
#include "tutti/cluster/engine.hpp"

namespace tutti::cluster {

[[nodiscard]] inline backend::settings settings_of(const engine_options& how) {
    return {.prefix = how.prefix,
            .request_timeout = how.request_timeout,
            .batch = how.batch,
            .tls = {files_of(how.tls), how.group_name}};
}

}  // namespace tutti::cluster
