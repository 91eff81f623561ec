// The settings that a backend receives from engine_options.
#pragma once

#include "cluster/backend/address.hpp"
#include "tutti/cluster/engine.hpp"

namespace tutti::cluster {

[[nodiscard]] inline backend::settings settings_of(const engine_options& how) {
    return {.prefix = how.prefix,
            .patience = how.patience,
            .batch = how.batch,
            .tls = {{how.tls.certificate, how.tls.key, how.tls.authority}, how.group_name}};
}

}  // namespace tutti::cluster
