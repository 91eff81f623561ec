// Saves the objects of a group to a file, and restores them. The saved state was current at one moment during the call,
// although programs continue to run.
//
// The archive requests the group's records piece by piece, and then all writes since the first piece, until nothing is
// left. The result is the state at the version of the last answer. Each record has the content that a commit has
// written, and the changes of every commit up to that version are applied (group_engine::list,
// group_engine::list_changes).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>

#include "cluster/backend/backoff_timer.hpp"
#include "cluster/backend/engine_settings.hpp"
#include "cluster/backend/group_client.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/raft_group_engine.hpp"
#include "cluster/replica/checksummed.hpp"
#include "tutti/cluster/errors.hpp"
#include "tutti/cluster/groups.hpp"

namespace tutti::cluster {
namespace archive {
namespace {

using backend::engine_error;
using backend::engine_status;
using records = std::map<backend::key, backend::record>;

constexpr std::string_view name_of_archive{"tutti objects"};
constexpr std::uint8_t format = 1;
constexpr std::size_t max_bytes = 1u << 20, max_records = 1000;  // limits of one request
constexpr std::string_view scheme{"tutti:"};

std::unique_ptr<backend::group_engine> open(const engine_options& where) {
    const std::string_view address{where.address};
    const backend::settings how = settings_of(where);
    backend::check_address(where.address, how);
    if (!address.starts_with(scheme)) throw engine_error{"'" + where.address + "' is no address of a group: tutti://…"};
    const auto groups = backend::group::parse_groups(address.substr(scheme.size()), how.tls.files.are_set());
    auto one = backend::open_raft_group(groups.front(), how);
    const backend::layout all = backend::read_layout(*one);
    if (groups.size() > 1 || all.groups.size() > 1) {
        throw engine_error{
            "the objects of '" + how.prefix +
            "' are in several groups, which have no state in common that could be kept: only the objects of "
            "one group are"};
    }
    return one;
}

[[noreturn]] void refuse_silent(const backend::group_engine& g) {
    throw engine_error{g.abilities().name + " does not answer"};
}

/// Reads the group's records once, including records of erased objects that the group still has. Returns false if the
/// group no longer knows all writes since the first request.
bool export_part_once(backend::group_engine& from, records& all, backend::version& at) {
    const backend::slot_set slots{1, {0}};
    all.clear();
    backend::list_cursor place;
    std::vector<backend::change> some;
    const auto enter = [&] {
        for (backend::change& c : some) {
            if (!c.of.starts_with('o')) continue;
            backend::record& known = all[c.of];
            if (known.at <= c.value.at) known = std::move(c.value);
        }
        some.clear();
    };
    while (!place.is_finished) {
        if (from.list(place, slots, some) != engine_status::good) refuse_silent(from);
        enter();
    }
    for (place.is_finished = false; !place.is_finished;) {
        const engine_status status = from.list_changes(place, slots, some);
        if (status == engine_status::conflict) return false;
        if (status != engine_status::good) refuse_silent(from);
        enter();
    }
    at = place.as_of;
    return true;
}

records export_with_erased(backend::group_engine& from, backend::version& at) {
    records all;
    for (int tries = 0; tries < 5; ++tries) {
        if (export_part_once(from, all, at)) return all;
    }
    throw engine_error{from.abilities().name + " is written to faster than this can read: try again later"};
}

records export_part(backend::group_engine& from, backend::version& at) {
    records all = export_with_erased(from, at);
    std::erase_if(all, [](const auto& one) { return !one.second.exists; });
    return all;
}

/// Throws if the group has an object, or has erased one of the `restored` objects at the same version or a later one.
/// An import would leave such an object erased. Returns the group's version.
backend::version require_importable(const records& restored, backend::group_engine& in, const std::string& prefix) {
    backend::version now = 0;
    for (const auto& [k, r] : export_with_erased(in, now)) {
        if (r.exists) {
            throw engine_error{in.abilities().name + " has objects of '" + prefix +
                               "' already, which a restore would mix with those of the file: begin a new group"};
        }
        const auto one = restored.find(k);
        if (one != restored.end() && one->second.at <= r.at) {
            throw engine_error{in.abilities().name + " has erased objects of the file later, and a restore of '" +
                               prefix + "' would not bring these objects back: begin a new group"};
        }
    }
    return now;
}

objects_status status_of(const records& all, backend::version at) {
    objects_status status{all.size(), 0, at};
    for (const auto& [k, r] : all) status.bytes += r.bytes.size();
    return status;
}

[[noreturn]] void refuse_file(const std::string& file, int error) {
    throw engine_error{file + " cannot be written: " + std::generic_category().message(error)};
}

/// Writes the file. The name refers either to the whole new file or to the former one.
void write_whole(const std::string& file, std::string_view bytes) {
    const std::string made = file + ".new";
    const int out = ::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0) refuse_file(made, errno);
    int error = 0;
    while (!bytes.empty() && error == 0) {
        const ssize_t n = ::write(out, bytes.data(), bytes.size());
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR) error = errno;
    }
    if (error == 0 && ::fsync(out) != 0) error = errno;
    ::close(out);
    if (error == 0 && std::rename(made.c_str(), file.c_str()) != 0) error = errno;
    if (error == 0) return;
    std::remove(made.c_str());
    refuse_file(file, error);
}

records read_whole(const std::string& file, backend::version& at) {
    std::ifstream in{file, std::ios::binary};
    if (!in) throw engine_error{file + " cannot be read"};
    std::ostringstream whole;
    whole << in.rdbuf();
    const std::string bytes = std::move(whole).str();
    std::string_view content;
    std::uint8_t is = 0;
    switch (replica::read_checksummed(bytes, name_of_archive, format, format, content, is)) {
        case replica::checksum_result::valid: break;
        case replica::checksum_result::other_content: throw engine_error{file + " is not a snapshot of objects"};
        case replica::checksum_result::unsupported_format: throw engine_error{file + " was written by another release"};
        case replica::checksum_result::damaged:
            throw engine_error{file +
                               " is damaged: its checksum is wrong. Nothing has been restored; use another copy"};
    }
    wire::reader from{content};
    std::uint64_t count = 0;
    records all;
    from(at), from(count);
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        backend::group::changed_record r;
        r.fields(from);
        all[r.of] = {r.value.exists, r.value.at, std::move(r.value.bytes)};
    }
    if (!from.is_valid() || all.size() != count) throw engine_error{file + " is not a snapshot of objects"};
    return all;
}

void give(backend::group_engine& to, const std::vector<backend::change>& some, backend::version absence) {
    for (backend::backoff_timer all{std::chrono::seconds{20}};;) {
        backend::request r;
        to.import_records(r, some, absence);  // importing records twice is harmless
        if (r.status == engine_status::good) return;
        if (r.status == engine_status::refused) throw engine_error{r.reason};
        if (!all.wait()) refuse_silent(to);
    }
}

template <class Deed>
objects_status carry_out(const engine_options& where, Deed&& deed) {
    try {
        return deed(*open(where));
    } catch (const engine_error& r) {
        throw connection_error{std::string{"tutti: "} + r.what()};
    }
}

}  // namespace
}  // namespace archive

objects_status save_objects(const engine_options& where, const std::string& file) {
    return archive::carry_out(where, [&](backend::group_engine& from) {
        backend::version at = 0;
        const archive::records all = archive::export_part(from, at);
        std::string bytes = replica::begin_checksummed(archive::name_of_archive, archive::format);
        wire::writer to{bytes};
        to(std::uint64_t{at}), to(static_cast<std::uint64_t>(all.size()));
        for (const auto& [k, r] : all) {
            backend::group::changed_record one{k, {r.exists, r.at, r.bytes}};
            one.fields(to);
        }
        replica::finish_checksummed(bytes);
        archive::write_whole(file, bytes);
        return archive::status_of(all, at);
    });
}

objects_status restore_objects(const engine_options& where, const std::string& file) {
    return archive::carry_out(where, [&](backend::group_engine& to) {
        backend::version at = 0;
        const archive::records all = archive::read_whole(file, at);
        const backend::version now = archive::require_importable(all, to, where.prefix);
        // The absence version is raised, so that a program that has read an object as absent notices the restoration
        // (backend.hpp, ENG1).
        const backend::version absence = std::max(at, now) + 1;
        std::vector<backend::change> some;
        std::size_t bytes = 0;
        for (const auto& [k, r] : all) {
            some.push_back({k, r});
            bytes += k.size() + r.bytes.size();
            if (some.size() < archive::max_records && bytes < archive::max_bytes) continue;
            archive::give(to, some, absence);
            some.clear();
            bytes = 0;
        }
        if (!some.empty()) archive::give(to, some, absence);
        return archive::status_of(all, at);
    });
}

objects_status export_objects(const engine_options& where, const std::function<void(const exported_object&)>& visit) {
    return archive::carry_out(where, [&](backend::group_engine& from) {
        backend::version at = 0;
        const archive::records all = archive::export_part(from, at);
        for (const auto& [k, r] : all) visit({k.substr(1), r.at, r.bytes});
        return archive::status_of(all, at);
    });
}

}  // namespace tutti::cluster
