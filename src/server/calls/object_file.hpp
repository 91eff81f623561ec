// Whether a shared object of procedures was compiled as this server was. An object in which std::string has another
// layout would crash the server, or misread what it is given. The answer comes from the file, because the
// initializers of an object's static variables run while it is loaded.
#pragma once

#include <optional>
#include <string>

#include "tutti/server/procedure.hpp"

namespace tutti::server {

inline constexpr const char* entry_symbol = "tutti_server_procedures_5";
inline constexpr const char* layout_symbol = "tutti_server_layout";

/// Says why the object at `path` cannot be served, in words that follow its path. Nothing: the object is fit, or the
/// file does not tell: it cannot be read, is no object of this machine, or lacks section headers.
[[nodiscard]] std::optional<std::string> why_unfit(const std::string& path);

/// The same of an object whose layout is known. `layout` is null where the object lacks one.
[[nodiscard]] std::optional<std::string> why_unfit(const detail::object_layout* layout, bool has_entry);

}  // namespace tutti::server
