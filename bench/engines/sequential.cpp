#include "engines/sequential.hpp"
#include "workloads/workloads.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = add_all<sequential>();

}  // namespace
}  // namespace bench
