#include "engines/sequential.hpp"

#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_standard<sequential>(), true);

}  // namespace
}  // namespace bench
