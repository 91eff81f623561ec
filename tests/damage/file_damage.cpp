#include "damage/file_damage.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>

namespace tutti::damage {
namespace {

namespace fs = std::filesystem;

void write(const std::string& file, const std::string& bytes) {
    std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
}

std::string noise(std::uint64_t seed, std::size_t n) {
    support::random dice{seed};
    std::string bytes(n, '\0');
    for (char& b : bytes) b = static_cast<char>(dice.next());
    return bytes;
}

/// Returns the path of a file of another replica, or an empty string if no file is found. In three of four draws,
/// prefers the file with the same name as `file`.
std::string donated(const draw& d, const target& of, const std::string& file) {
    if (of.donors.empty()) return {};
    const std::string& folder = of.donors[d.donor % of.donors.size()];
    const std::string root = fs::path{of.files.front()}.parent_path().string();
    std::string name = file.substr(root.size());
    if (d.place % 4 == 0) name = of.files[d.other % of.files.size()].substr(root.size());
    if (fs::is_regular_file(folder + name)) return folder + name;
    // Names of segments and snapshots differ between members, so any file of the same folder may be chosen.
    std::vector<std::string> all;
    std::error_code failed;
    for (const auto& f : fs::directory_iterator{fs::path{folder + name}.parent_path(), failed}) {
        if (f.is_regular_file()) all.push_back(f.path().string());
    }
    std::ranges::sort(all);
    return all.empty() ? std::string{} : all[d.other % all.size()];
}

}  // namespace

const char* name_of(kind k) {
    switch (k) {
        case kind::none: return "none";
        case kind::bit: return "one bit";
        case kind::bytes: return "some bytes";
        case kind::zeros: return "page of zeros";
        case kind::noise: return "page of noise";
        case kind::cut: return "cut off";
        case kind::cut_at_page: return "cut off at a page";
        case kind::exchanged: return "pages exchanged";
        case kind::repeated: return "page over another";
        case kind::longer: return "something behind the end";
        case kind::gone: return "file removed";
        case kind::of_another: return "file of another replica";
        case kind::older: return "file of an earlier round";
        case kind::count: break;
    }
    return "?";
}

draw::draw(support::random& dice) {
    const auto kinds = static_cast<std::size_t>(kind::count);
    what = dice.below(7) == 0 ? kind::none : static_cast<kind>(1 + dice.below(kinds - 1));
    file = dice.next();
    place = dice.next();
    other = dice.next();
    size = dice.next();
    donor = dice.next();
}

std::string bytes_of(const std::string& file) {
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(file, gone);
    if (gone) return {};
    std::string bytes(size, '\0');
    std::ifstream from{file, std::ios::binary};
    from.read(bytes.data(), static_cast<std::streamsize>(size));
    bytes.resize(static_cast<std::size_t>(from.gcount()));
    return bytes;
}

std::string digest_of(const std::vector<std::string>& files) {
    std::string all;
    std::vector<char> piece(64 * 1024);
    for (const std::string& f : files) {
        std::ifstream from{f, std::ios::binary};
        std::uint64_t size = 0, digest = 0;
        do {
            from.read(piece.data(), static_cast<std::streamsize>(piece.size()));
            const std::string_view read{piece.data(), static_cast<std::size_t>(from.gcount())};
            size += read.size();
            digest = digest * 0x9e37'79b9'7f4a'7c15 + std::hash<std::string_view>{}(read);
        } while (from);
        all += f + " " + std::to_string(size) + " " + std::to_string(digest) + "\n";
    }
    return all;
}

done apply(const draw& d, const target& of) {
    if (d.what == kind::none || of.files.empty()) return {};
    done result{d.what, of.files[d.file % of.files.size()], {}};
    const std::string& file = result.file;
    std::string bytes = bytes_of(file);
    const auto nothing = [&] { return done{}; };
    const auto say = [&](const std::string& what) {
        result.text = std::string{name_of(d.what)} + ", " + file + (what.empty() ? "" : ", " + what);
        return result;
    };
    if (d.what == kind::gone) {
        fs::remove(file);
        return say("");
    }
    if (d.what == kind::of_another || d.what == kind::older) {
        const std::string root = fs::path{of.files.front()}.parent_path().string();
        const std::string from = d.what == kind::older ? of.earlier + file.substr(root.size()) : donated(d, of, file);
        if (from.empty() || !fs::is_regular_file(from)) return nothing();
        std::string others = bytes_of(from);
        if (others == bytes) return nothing();
        write(file, others);
        return say("from " + from);
    }
    const std::uint64_t page = of.pages[d.size % of.pages.size()];
    if (d.what == kind::longer) {
        bytes += d.other % 2 == 0 ? std::string(page, '\0') : noise(d.place, page);
        write(file, bytes);
        return say(std::to_string(page) + " bytes");
    }
    if (bytes.empty()) return nothing();
    // C-Raft makes segments of 8 MiB, which are zero after the written data. Half of the damages hit only the written
    // part.
    std::uint64_t reach = bytes.size();
    if (d.donor % 2 == 0 && bytes.back() == '\0') {
        const std::size_t last = bytes.find_last_not_of('\0');
        if (last != std::string::npos) reach = last + 1;
    }
    const std::uint64_t at = d.place % reach, pages = (reach + page - 1) / page;
    const std::uint64_t first = d.place % pages * page, second = d.other % pages * page;
    const std::uint64_t length = std::min<std::uint64_t>(page, bytes.size() - first);
    const std::string before = bytes;
    std::string where = "byte " + std::to_string(first) + ", " + std::to_string(length) + " bytes";
    switch (d.what) {
        case kind::bit:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << d.other % 8));
            where = "byte " + std::to_string(at) + " bit " + std::to_string(d.other % 8);
            break;
        case kind::bytes: {
            const std::uint64_t n = std::min<std::uint64_t>(1 + d.size % 64, bytes.size() - at);
            bytes.replace(at, n, noise(d.other, n));
            where = "byte " + std::to_string(at) + ", " + std::to_string(n) + " bytes";
            break;
        }
        case kind::zeros: bytes.replace(first, length, length, '\0'); break;
        case kind::noise: bytes.replace(first, length, noise(d.other, length)); break;
        case kind::cut:
            bytes.resize(at);
            where = "to " + std::to_string(at) + " of " + std::to_string(before.size()) + " bytes";
            break;
        case kind::cut_at_page:
            bytes.resize(first);
            where = "to " + std::to_string(first) + " of " + std::to_string(before.size()) + " bytes";
            break;
        case kind::exchanged: {
            const std::uint64_t n = std::min<std::uint64_t>({length, bytes.size() - second});
            const std::string one = bytes.substr(first, n), two = bytes.substr(second, n);
            bytes.replace(first, n, two);
            bytes.replace(second, n, one);
            where += " with byte " + std::to_string(second);
            break;
        }
        case kind::repeated: {
            const std::uint64_t n = std::min<std::uint64_t>({length, bytes.size() - second});
            bytes.replace(first, n, std::string{bytes.substr(second, n)});
            where += " from byte " + std::to_string(second);
            break;
        }
        default: return nothing();
    }
    if (bytes == before) return nothing();
    write(file, bytes);
    return say(where);
}

}  // namespace tutti::damage
