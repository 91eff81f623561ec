// Reads the configuration of a node: a TOML file, and the environment variables that override the file.
#include "tutti/cluster/configuration.hpp"

#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>

#include "cluster/backend/engine_settings.hpp"
#include "cluster/node/configuration_entries.hpp"
#include "cluster/participant/peer_node.hpp"
#include "wire/transport.hpp"

namespace tutti::cluster {

connection_error::~connection_error() = default;
configuration_error::~configuration_error() = default;

namespace {

constexpr std::string_view prefix = "TUTTI_CLUSTER_";

/// A configuration, and a record of which entries were set.
struct parsed_configuration {
    configuration what;
    bool node_number = false;
    std::string nodes_at, engine_at;  // the line or the variable that sets them; empty if nothing sets them
};

[[noreturn]] void refuse(const std::string& at, const std::string& why) {
    throw configuration_error{"tutti: " + at + ": " + why};
}

std::string quoted(std::string_view text) {
    constexpr std::size_t most = 60;
    std::string out{"'"};
    for (const char c : text.substr(0, most)) out += c >= ' ' && c != 127 ? c : '?';
    return out + (text.size() > most ? "...'" : "'");
}

constexpr std::size_t max_compared_name = 40;  // length of the longest name that is compared with known names

/// Returns the number of insertions, deletions and substitutions that turn `a` into `b` (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
        }
    }
    return row.back();
}

/// Returns a suggestion for a misspelt key.
std::string suggestion_for(std::string_view table, std::string_view key) {
    std::string all;
    const configuration_entry* nearest = nullptr;
    std::size_t least = 3;
    for (const configuration_entry& e : configuration_entries()) {
        if (e.key == key && e.table != table)
            return e.table.empty() ? "it belongs before the first table"
                                   : "it belongs in the table [" + std::string{e.table} + "]";
        if (e.table != table) continue;
        all += (all.empty() ? "" : ", ") + std::string{e.key};
        const std::size_t d = key.size() > max_compared_name ? least : distance(key, e.key);
        if (d < least) least = d, nearest = &e;
    }
    if (nearest != nullptr) return "write " + std::string{nearest->key} + " = " + std::string{nearest->description};
    return "there are " + all;
}

void put(parsed_configuration& into, const configuration_entry& e, configured_value&& v, const std::string& at) {
    const std::string name{e.key};
    if (const auto* const n = std::get_if<std::uint64_t>(&v); n != nullptr && (*n < e.minimum || *n > e.maximum)) {
        refuse(at, name + " is " + std::string{e.description} + ", from " + std::to_string(e.minimum) + " to " +
                       std::to_string(e.maximum) + ", not " + std::to_string(*n));
    }
    if (const auto* const text = std::get_if<std::string>(&v)) {
        if (text->find('\0') != std::string::npos) refuse(at, name + " has a zero byte in it; write it without");
        if (!e.choices.empty() && std::ranges::find(e.choices, *text) == e.choices.end())
            refuse(at, name + " is " + std::string{e.description} + ", not " + quoted(*text));
    }
    if (e.key == "node-number") into.node_number = true;
    if (e.key == "nodes") into.nodes_at = at;
    if (e.table == "engine") into.engine_at = at;
    e.put(into.what, std::move(v));
}

// ---- the file

configured_value value_of(const configuration_entry& e, const toml::node& n, const std::string& at) {
    const auto wrong = [&]() { refuse(at, std::string{e.key} + " is " + std::string{e.description}); };
    switch (e.kind) {
        case value_kind::text:
            if (!n.is_string()) wrong();
            return n.ref<std::string>();
        case value_kind::boolean:
            if (!n.is_boolean()) wrong();
            return n.ref<bool>();
        case value_kind::number: {
            if (!n.is_integer()) wrong();
            const std::int64_t given = n.ref<std::int64_t>();
            if (given < 0) refuse(at, std::string{e.key} + " is " + std::string{e.description} + ", not below 0");
            return static_cast<std::uint64_t>(given);
        }
        default: break;
    }
    const toml::array* const list = n.as_array();
    if (list == nullptr || list->empty() || !list->is_homogeneous<std::string>()) wrong();
    std::vector<std::string> all;
    for (const toml::node& one : *list) all.push_back(one.ref<std::string>());
    return all;
}

void read_table(parsed_configuration& into, const toml::table& from, std::string_view table, const std::string& file) {
    for (const auto& [key, n] : from) {
        const std::string_view name = key.str();
        const std::string at = file + ":" + std::to_string(key.source().begin.line);
        const auto all = configuration_entries();
        const auto e = std::ranges::find_if(
            all, [&](const configuration_entry& one) { return one.table == table && one.key == name; });
        if (e != all.end()) {
            put(into, *e, value_of(*e, n, at), at);
            continue;
        }
        const bool is_table = table.empty() && std::ranges::any_of(all, [&](const configuration_entry& one) {
                                  return one.table == name;
                              });
        if (is_table && n.is_table()) read_table(into, *n.as_table(), name, file);
        else if (is_table) refuse(at, std::string{name} + " is a table: write [" + std::string{name} + "]");
        else refuse(at, quoted(name) + " is not a known setting; " + suggestion_for(table, name));
    }
}

void read_text(parsed_configuration& into, std::string_view text, const std::string& file) {
    toml::table all;
    try {
        all = toml::parse(text);
    } catch (const toml::parse_error& e) {
        refuse(file + ":" + std::to_string(e.source().begin.line), std::string{e.description()});
    }
    read_table(into, all, "", file);
}

std::string bytes_of(const std::string& file) {
    constexpr std::size_t most = std::size_t{1} << 20;
    // Reads with stdio, as toml++ does, but distinguishes a folder or an unreadable file from an empty file.
    std::FILE* const from = std::fopen(file.c_str(), "rb");
    std::string all(most + 1, '\0');
    const std::size_t size = from == nullptr ? 0 : std::fread(all.data(), 1, all.size(), from);
    const bool good = from != nullptr && std::ferror(from) == 0;
    if (from != nullptr) std::fclose(from);
    if (!good) refuse(file, "it cannot be read; name a file of TOML that this process may read");
    if (size > most) refuse(file, "it is longer than a configuration may be (1 MiB)");
    all.resize(size);
    return all;
}

// ---- the environment

configured_value value_of(const configuration_entry& e, std::string_view text, const std::string& at) {
    const auto wrong = [&]() { refuse(at, "give " + std::string{e.description} + ", not " + quoted(text)); };
    switch (e.kind) {
        case value_kind::boolean:
            if (text != "true" && text != "false") wrong();
            return text == "true";
        case value_kind::number: {
            std::uint64_t given = 0;
            const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), given);
            if (failed != std::errc{} || end != text.data() + text.size()) wrong();
            return given;
        }
        case value_kind::list: {
            std::vector<std::string> all;
            for (std::string_view rest = text;;) {
                const std::size_t comma = std::min(rest.find(','), rest.size());
                all.emplace_back(rest.substr(0, comma));
                if (comma == rest.size()) return all;
                rest.remove_prefix(comma + 1);
            }
        }
        default: return std::string{text};
    }
}

constexpr std::string_view file_variable = "CONFIG";

[[noreturn]] void refuse_variable(std::string_view name, const std::string& at) {
    std::string_view nearest = file_variable;
    for (const configuration_entry& e : configuration_entries()) {
        if (distance(name, e.variable) < distance(name, nearest)) nearest = e.variable;
    }
    refuse(at, "unknown variable; unset it, or write " + std::string{prefix} + std::string{nearest});
}

/// Reads the environment. An empty variable counts as unset.
void read_environment(parsed_configuration& into) {
    for (const char* const* v = environ; *v != nullptr; ++v) {
        const std::string_view both{*v};
        const std::size_t end = std::min(both.find('='), both.size());
        const std::string at{both.substr(0, end)};
        const std::string_view text = both.substr(std::min(end + 1, both.size()));
        if (!at.starts_with(prefix) || text.empty()) continue;
        const std::string_view name = std::string_view{at}.substr(prefix.size());
        if (name == file_variable) continue;
        const auto all = configuration_entries();
        const auto e = std::ranges::find(all, name, &configuration_entry::variable);
        if (e == all.end()) refuse_variable(name.substr(0, max_compared_name), at);
        put(into, *e, value_of(*e, text, at), at);
    }
}

// ---- the whole

parsed_configuration read(const std::string& file) {
    parsed_configuration all;
    if (!file.empty()) read_text(all, bytes_of(file), file);
    read_environment(all);
    return all;
}

std::string file_of_environment() {
    const char* const file = std::getenv((std::string{prefix} + std::string{file_variable}).c_str());
    return file == nullptr ? std::string{} : std::string{file};
}

/// Checks that entries that require each other are all set.
configuration whole_number(parsed_configuration&& s, const std::string& file) {
    const std::string where = file.empty() ? std::string{"the environment"} : file;
    if (!s.nodes_at.empty() && !s.engine_at.empty()) {
        refuse(s.engine_at, "objects are held by the nodes that " + s.nodes_at +
                                " lists, or by an engine: leave one of the two out");
    }
    if (!s.nodes_at.empty() && !s.node_number) {
        refuse(s.nodes_at, "node-number is missing: write node-number = a number from 0 to " +
                               std::to_string(s.what.node.addresses.size() - 1) + " in the file, or set " +
                               std::string{prefix} + "NODE_NUMBER");
    }
    if (s.node_number && s.nodes_at.empty())
        refuse(where, "node-number is one of nodes, and there are none: write nodes = [\"address\", ...]");
    if (s.node_number && s.what.node.node_number >= s.what.node.addresses.size()) {
        refuse(s.nodes_at, "node " + std::to_string(s.what.node.node_number) + " is not one of the " +
                               std::to_string(s.what.node.addresses.size()) + " nodes: node-number counts from 0");
    }
    if (s.what.engine) {
        s.what.engine->tls = s.what.node.tls;
        s.what.engine->group_name = s.what.node.cluster;
    }
    return std::move(s.what);
}

observer_options observer(parsed_configuration&& s) {
    return {.cluster = std::move(s.what.node.cluster),
            .addresses = std::move(s.what.node.addresses),
            .tls = std::move(s.what.node.tls),
            .curve = std::move(s.what.node.curve)};
}

}  // namespace

configuration configuration::from_file(const std::string& file) { return whole_number(read(file), file); }

configuration configuration::from_environment() { return from_file(file_of_environment()); }

configuration configuration::from_text(std::string_view text, const std::string& name) {
    parsed_configuration all;
    read_text(all, text, name);
    return whole_number(std::move(all), name);
}

void configuration::check() const try {
    if (engine) {
        const backend::settings how = settings_of(*engine);
        backend::check_address(engine->address, how);
        static_cast<void>(backend::group::credentials::of(how.tls, backend::group::peer_kind::program));
        return;
    }
    const wire::transport_options how = transport_options_of(node);
    static_cast<void>(wire::addresses_of(how));
    if (how.tls.are_set())
        const wire::tls usable{how.tls, std::vector{wire::certificate_name(how.own_number, node.cluster)}};
    if (how.curve.are_set())
        static_cast<void>(wire::curve_keys::read(how.curve, how.own_number, node.addresses.size()));
    if (!node.metrics.empty()) static_cast<void>(wire::parse_tcp(node.metrics, true));
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
} catch (const backend::engine_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

node_options node_options::from_environment() {
    configuration all = configuration::from_environment();
    if (all.engine) {
        throw configuration_error{
            "tutti: the environment names an engine, and this program asks for nodes alone: have it make its node of a "
            "configuration, or unset " +
            std::string{prefix} + "ENGINE"};
    }
    return std::move(all.node);
}

observer_options observer_options::from_environment() { return observer(read(file_of_environment())); }
observer_options observer_options::from_file(const std::string& file) { return observer(read(file)); }

}  // namespace tutti::cluster
