#include "symbols.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "subprocess.hpp"

namespace tutti::tools {
namespace {

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text{abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free};
    return status == 0 ? text.get() : name;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// What is known of a place without its object file.
named_code without_file(const place& p) {
    if (!p.symbol.empty()) return {demangled(p.symbol), ""};
    return {fmt::format("{}+{:#x}", p.object.empty() ? "code" : file_name(p.object), p.offset), ""};
}

/// "/home/me/a.cpp:12 (discriminator 3)" as "a.cpp:12".
std::string shortened(std::string source) {
    source = source.substr(0, source.find(" ("));
    const std::size_t colon = source.rfind(':');
    const std::string line = colon == std::string::npos ? "0" : source.substr(colon + 1);
    if (source.starts_with("??") || line == "0" || line == "?") return {};
    return file_name(source);
}

}  // namespace

void symbols::look_up(const std::vector<place>& places) {
    std::map<std::string, std::vector<place>> by_object;
    for (const place& p : places) by_object[p.object].push_back(p);
    for (const auto& [object, wanted] : by_object) {
        std::vector<std::string> command{"addr2line", "-f", "-C", "-e", object};
        for (const place& p : wanted) command.push_back(fmt::format("{:#x}", p.offset));
        // An object without a path would be taken for an option, or for another file.
        std::istringstream answer{object.starts_with('/') ? output_of(command).value_or("") : ""};
        for (const place& p : wanted) {
            named_code found = without_file(p);
            std::string function;
            std::string source;
            if (std::getline(answer, function) && std::getline(answer, source)) {
                if (!function.starts_with("??")) found.function = function;
                found.source = shortened(source);
            }
            known_.insert_or_assign({p.object, p.offset}, found);
        }
    }
}

const named_code& symbols::operator[](const place& p) const { return known_.at({p.object, p.offset}); }

namespace {

/// The instructions from `p` on, "call   1139 <f()>" each; at most so many bytes.
std::vector<std::string> instructions_at(const place& p, std::uint64_t bytes) {
    std::vector<std::string> all;
    if (!p.object.starts_with('/')) return all;
    std::istringstream code{
        output_of({"objdump", "-d", "-C", "--no-show-raw-insn", fmt::format("--start-address={:#x}", p.offset),
                   fmt::format("--stop-address={:#x}", p.offset + bytes), p.object})
            .value_or("")};
    for (std::string line; std::getline(code, line);) {
        const std::size_t tab = line.find(":\t");
        if (tab != std::string::npos) all.push_back(line.substr(tab + 2));
    }
    return all;
}

/// What a call calls; nothing where it does so by a register.
called_code callee_of(const std::string& call) {
    const std::size_t opening = call.find('<');
    const std::size_t closing = call.rfind('>');
    if (opening == std::string::npos || closing == std::string::npos) return {};
    called_code found{call.substr(opening + 1, closing - opening - 1)};
    if (const std::size_t at = found.function.rfind('@'); at != std::string::npos) {
        found.function.resize(at);
        found.foreign = true;
    }
    return found;
}

bool belongs_to_runtime(const called_code& c) { return c.function.starts_with("_ITM_"); }

}  // namespace

called_code symbols::next_call(const place& p) {
    constexpr std::uint64_t far_enough = 512;
    for (const std::string& instruction : instructions_at(p, far_enough)) {
        if (instruction.starts_with("jmp") || instruction.starts_with("ret")) return {};
        if (!instruction.starts_with("call")) continue;
        const called_code found = callee_of(instruction);
        // The block ends before it calls anything: what is unsafe is no call.
        return belongs_to_runtime(found) ? called_code{} : found;
    }
    return {};
}

std::vector<called_code> symbols::calls_of_block(const place& begin) {
    constexpr std::uint64_t far_enough = 4096;
    constexpr std::size_t enough = 8;
    std::vector<called_code> all;
    for (const std::string& instruction : instructions_at(begin, far_enough)) {
        if (!instruction.starts_with("call")) continue;
        const called_code found = callee_of(instruction);
        if (found.function.starts_with("_ITM_commitTransaction") || all.size() == enough) break;
        const auto is_same = [&](const called_code& c) { return c.function == found.function; };
        if (found.function.empty() || belongs_to_runtime(found) || std::ranges::any_of(all, is_same)) continue;
        all.push_back(found);
    }
    return all;
}

}  // namespace tutti::tools
