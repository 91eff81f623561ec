// Checks whether a shared object of procedures was compiled with the same layout of standard library types as this
// server. An object in which std::string has another layout would crash the server, or misread its arguments. The check
// reads the file, because loading an object runs the initializers of its static variables.
#pragma once

#include <optional>
#include <string>

#include "tutti/server/procedure.hpp"

namespace tutti::server {

inline constexpr const char* entry_symbol = "tutti_server_procedures_5";
inline constexpr const char* layout_symbol = "tutti_server_layout";

/// Returns the reason why the server cannot use the object at `path`, as text that follows its path. Returns nothing if
/// the object is compatible, or if the check is impossible. The check is impossible if the file is unreadable, is not
/// an object of this machine, or lacks section headers.
[[nodiscard]] std::optional<std::string> find_incompatibility(const std::string& path);

/// Returns the reason why the server cannot use an object with this layout, or nothing if the object is compatible.
/// `layout` is null if the object does not contain a layout. `has_entry`: the object defines entry_symbol.
[[nodiscard]] std::optional<std::string> find_incompatibility(const detail::object_layout* layout, bool has_entry);

}  // namespace tutti::server
