// Which groups keep the objects of a prefix, and in which order: a record in each of them says so. Objects are spread
// by a hash over the groups in their order, so a program that knew of others, or of fewer, would look for an object
// where it is not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

/// Brings them into the order that their records say, or, where there is none yet, makes these, in the order in which
/// the groups come. Throws refusal: they are other groups than those that keep `prefix`, one is named twice, or does
/// not answer.
void settle_layout(std::vector<std::unique_ptr<group_engine>>& groups, const std::string& prefix);

}  // namespace tutti::cluster::backend
