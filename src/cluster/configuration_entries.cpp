#include "cluster/configuration_entries.hpp"

#include <array>
#include <utility>

namespace tutti::cluster {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t longest_wait = 24 * 3'600'000;  // ms
constexpr std::uint64_t smallest_message = 1024, largest_message = std::uint64_t{1} << 30;

constexpr std::array<std::string_view, 2> placements{"home", "writer"};
constexpr std::array<std::string_view, 3> levels{"info", "warning", "error"};

std::string&& text(configured_value& v) { return std::move(std::get<std::string>(v)); }
milliseconds ms(const configured_value& v) { return milliseconds{std::get<std::uint64_t>(v)}; }
engine_options& engine(configuration& c) { return c.engine ? *c.engine : c.engine.emplace(); }

using value = configured_value;

constexpr std::array entries{
    configuration_entry{.table = "",
                        .key = "cluster",
                        .variable = "NAME",
                        .kind = value_kind::text,
                        .means = "a text, the name of the cluster",
                        .put = [](configuration& c, value&& v) { c.node.cluster = text(v); }},
    configuration_entry{.table = "",
                        .key = "nodes",
                        .variable = "NODES",
                        .kind = value_kind::list,
                        .means = "a list of texts, the addresses of all nodes in their order",
                        .put = [](configuration& c,
                                  value&& v) { c.node.addresses = std::move(std::get<std::vector<std::string>>(v)); }},
    configuration_entry{
        .table = "",
        .key = "self",
        .variable = "SELF",
        .kind = value_kind::number,
        .means = "which of the nodes this process is, counted from 0",
        .most = 65'534,
        .put = [](configuration& c, value&& v) { c.node.self = static_cast<unsigned>(std::get<std::uint64_t>(v)); }},
    configuration_entry{.table = "",
                        .key = "certificate",
                        .variable = "CERTIFICATE",
                        .kind = value_kind::text,
                        .means = "a text, the name of a file of PEM",
                        .put = [](configuration& c, value&& v) { c.node.tls.certificate = text(v); }},
    configuration_entry{.table = "",
                        .key = "key",
                        .variable = "KEY",
                        .kind = value_kind::text,
                        .means = "a text, the name of a file of PEM",
                        .put = [](configuration& c, value&& v) { c.node.tls.key = text(v); }},
    configuration_entry{.table = "",
                        .key = "authority",
                        .variable = "AUTHORITY",
                        .kind = value_kind::text,
                        .means = "a text, the name of a file of PEM",
                        .put = [](configuration& c, value&& v) { c.node.tls.authority = text(v); }},
    configuration_entry{
        .table = "",
        .key = "placement",
        .variable = "PLACEMENT",
        .kind = value_kind::text,
        .means = "\"home\" or \"writer\": where objects live",
        .choices = placements,
        .put = [](configuration& c,
                  value&& v) { c.node.placement = text(v) == "home" ? placement::home : placement::writer; }},
    configuration_entry{.table = "",
                        .key = "patience",
                        .variable = "PATIENCE",
                        .kind = value_kind::number,
                        .means = "a number of milliseconds",
                        .least = 1,
                        .most = longest_wait,
                        .put = [](configuration& c, value&& v) { c.node.patience = ms(v); }},
    configuration_entry{.table = "",
                        .key = "connect-within",
                        .variable = "CONNECT_WITHIN",
                        .kind = value_kind::number,
                        .means = "a number of milliseconds",
                        .least = 1,
                        .most = longest_wait,
                        .put = [](configuration& c, value&& v) { c.node.connect_within = ms(v); }},
    configuration_entry{
        .table = "",
        .key = "largest-message",
        .variable = "LARGEST_MESSAGE",
        .kind = value_kind::number,
        .means = "a number of bytes",
        .least = smallest_message,
        .most = largest_message,
        .put = [](configuration& c, value&& v) { c.node.largest_message = std::get<std::uint64_t>(v); }},
    configuration_entry{.table = "",
                        .key = "metrics",
                        .variable = "METRICS",
                        .kind = value_kind::text,
                        .means = "a text, host:port of loopback",
                        .put = [](configuration& c, value&& v) { c.node.metrics = text(v); }},
    configuration_entry{.table = "engine",
                        .key = "address",
                        .variable = "ENGINE",
                        .kind = value_kind::text,
                        .means = "a text that begins with memory:, etcd:, postgres: or redis:",
                        .put = [](configuration& c, value&& v) { engine(c).address = text(v); }},
    configuration_entry{.table = "engine",
                        .key = "prefix",
                        .variable = "ENGINE_PREFIX",
                        .kind = value_kind::text,
                        .means = "a text of letters, digits, - and _",
                        .put = [](configuration& c, value&& v) { engine(c).prefix = text(v); }},
    configuration_entry{.table = "engine",
                        .key = "patience",
                        .variable = "ENGINE_PATIENCE",
                        .kind = value_kind::number,
                        .means = "a number of milliseconds",
                        .least = 1,
                        .most = longest_wait,
                        .put = [](configuration& c, value&& v) { engine(c).patience = ms(v); }},
    configuration_entry{.table = "engine",
                        .key = "lease",
                        .variable = "ENGINE_LEASE",
                        .kind = value_kind::number,
                        .means = "a number of milliseconds",
                        .least = 1,
                        .most = longest_wait,
                        .put = [](configuration& c, value&& v) { engine(c).lease = ms(v); }},
    configuration_entry{.table = "engine",
                        .key = "batch",
                        .variable = "ENGINE_BATCH",
                        .kind = value_kind::truth,
                        .means = "true or false",
                        .put = [](configuration& c, value&& v) { engine(c).batch = std::get<bool>(v); }},
    configuration_entry{.table = "engine",
                        .key = "staleness",
                        .variable = "ENGINE_STALENESS",
                        .kind = value_kind::number,
                        .means = "a number of milliseconds; 0: no copies",
                        .most = longest_wait,
                        .put = [](configuration& c, value&& v) { engine(c).staleness = ms(v); }},
    configuration_entry{.table = "log",
                        .key = "level",
                        .variable = "LOG_LEVEL",
                        .kind = value_kind::text,
                        .means = "\"info\", \"warning\" or \"error\"",
                        .choices = levels,
                        .put = [](configuration& c, value&& v) { c.log.level = text(v); }},
    configuration_entry{.table = "log",
                        .key = "json",
                        .variable = "LOG_JSON",
                        .kind = value_kind::truth,
                        .means = "true or false",
                        .put = [](configuration& c, value&& v) { c.log.json = std::get<bool>(v); }},
};

}  // namespace

std::span<const configuration_entry> configuration_entries() noexcept { return entries; }

}  // namespace tutti::cluster
