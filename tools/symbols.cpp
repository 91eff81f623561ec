#include "symbols.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
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

/// Names a place without its object file.
code_name without_file(const code_address& p) {
    if (!p.symbol.empty()) return {demangled(p.symbol), ""};
    return {fmt::format("{}+{:#x}", p.object.empty() ? "code" : file_name(p.object), p.offset), ""};
}

/// Shortens "/home/me/a.cpp:12 (discriminator 3)" to "a.cpp:12".
std::string shortened(std::string source) {
    source = source.substr(0, source.find(" ("));
    const std::size_t colon = source.rfind(':');
    const std::string line = colon == std::string::npos ? "0" : source.substr(colon + 1);
    if (source.starts_with("??") || line == "0" || line == "?") return {};
    return file_name(source);
}

}  // namespace

void symbols::look_up(const std::vector<code_address>& places) {
    std::map<std::string, std::vector<code_address>> by_object;
    for (const code_address& p : places) by_object[p.object].push_back(p);
    for (const auto& [object, wanted] : by_object) {
        std::vector<std::string> command{"addr2line", "-f", "-C", "-e", object};
        for (const code_address& p : wanted) command.push_back(fmt::format("{:#x}", p.offset));
        // addr2line could interpret a path that is not absolute as an option or as another file.
        std::istringstream answer{object.starts_with('/') ? output_of(command).value_or("") : ""};
        for (const code_address& p : wanted) {
            code_name found = without_file(p);
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

const code_name& symbols::operator[](const code_address& p) const { return known_.at({p.object, p.offset}); }

namespace {

struct instruction {
    std::uint64_t at;
    std::string text;  ///< "call   1139 <f()>"
};

/// Returns the instructions in the given number of bytes from `p` on.
std::vector<instruction> instructions_at(const code_address& p, std::uint64_t bytes) {
    std::vector<instruction> all;
    if (!p.object.starts_with('/')) return all;
    std::istringstream code{
        output_of({"objdump", "-d", "-C", "--no-show-raw-insn", fmt::format("--start-address={:#x}", p.offset),
                   fmt::format("--stop-address={:#x}", p.offset + bytes), p.object})
            .value_or("")};
    for (std::string line; std::getline(code, line);) {
        const std::size_t tab = line.find(":\t");
        if (tab != std::string::npos) all.push_back({std::strtoull(line.c_str(), nullptr, 16), line.substr(tab + 2)});
    }
    return all;
}

/// Returns the target of a call. If the call is through a register, the target has no name.
call_site callee_of(const code_address& p, const instruction& call) {
    call_site found{"", false, {p.object, call.at, ""}};
    const std::size_t opening = call.text.find('<');
    const std::size_t closing = call.text.rfind('>');
    if (opening == std::string::npos || closing == std::string::npos) return found;
    found.function = call.text.substr(opening + 1, closing - opening - 1);
    if (const std::size_t at = found.function.rfind('@'); at != std::string::npos) {
        found.function.resize(at);
        found.foreign = true;
    }
    return found;
}

bool belongs_to_runtime(const call_site& c) { return c.function.starts_with("_ITM_"); }

bool is_call(const instruction& i) { return i.text.starts_with("call"); }

/// Returns the target of a jump. Returns nothing for a jump through a register, and for other instructions.
std::optional<std::uint64_t> target_of(const instruction& i) {
    if (!i.text.starts_with('j')) return std::nullopt;
    const std::size_t operand = i.text.find_first_of(" \t");
    if (operand == std::string::npos) return std::nullopt;
    const char* const digits = i.text.c_str() + operand;
    char* end = nullptr;
    const std::uint64_t target = std::strtoull(digits, &end, 16);
    return end != digits ? std::optional{target} : std::nullopt;
}

}  // namespace

std::vector<call_site> symbols::unsafe_calls(const code_address& p) const {
    constexpr std::uint64_t far_enough = 4096;
    constexpr std::size_t enough = 3;
    constexpr std::size_t runs = 8;  // limits the runs of objdump: each target outside of known code needs a run
    std::map<std::uint64_t, instruction> code;
    std::set<std::uint64_t> seen;
    std::vector<std::uint64_t> ways{p.offset};
    std::vector<call_site> all;
    for (std::size_t asked = 0; !ways.empty() && all.size() != enough;) {
        const std::uint64_t start = ways.back();
        ways.pop_back();
        if (!code.contains(start)) {
            if (++asked > runs) continue;
            for (const instruction& i : instructions_at({p.object, start, ""}, far_enough)) code.emplace(i.at, i);
        }
        for (auto at = code.find(start); at != code.end() && seen.insert(at->first).second; ++at) {
            const instruction& i = at->second;
            if (i.text.starts_with("ret")) break;
            if (const auto target = target_of(i)) ways.push_back(*target);
            if (i.text.starts_with("jmp")) break;
            if (!is_call(i)) continue;
            const call_site found = callee_of(p, i);
            if (found.function.starts_with("_ITM_commitTransaction")) break;  // end of the block
            if (found.function.empty() || belongs_to_runtime(found) || safe_.contains(p.object, found.function))
                continue;
            const auto is_same = [&](const call_site& c) { return c.function == found.function; };
            if (std::ranges::none_of(all, is_same)) all.push_back(found);
            break;
        }
    }
    return all;
}

std::vector<call_site> symbols::calls_of_block(const code_address& begin) const {
    constexpr std::uint64_t far_enough = 4096;
    constexpr std::size_t enough = 8;
    std::vector<call_site> all;
    for (const instruction& i : instructions_at(begin, far_enough)) {
        if (!is_call(i)) continue;
        const call_site found = callee_of(begin, i);
        if (found.function.starts_with("_ITM_commitTransaction") || all.size() == enough) break;
        const auto is_same = [&](const call_site& c) { return c.function == found.function; };
        if (found.function.empty() || belongs_to_runtime(found) || safe_.contains(begin.object, found.function) ||
            std::ranges::any_of(all, is_same))
            continue;
        all.push_back(found);
    }
    return all;
}

}  // namespace tutti::tools
