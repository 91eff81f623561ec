// Replaces a file by another one, so that the file is complete at every instant.
#pragma once

#include <sys/types.h>

#include <string>

namespace tutti::server::journal {

/// Syncs `replacement` to the disk and renames it to `file`. If `file` exists, `replacement` first gets the owner and
/// the mode of `file`. The rename is on the disk on return. @throws log_store_error  then `file` is unchanged, or is
/// `replacement`
void replace_file(const std::string& file, const std::string& replacement);

/// The mode of new logs: the owner may write, the group may read. umask(2) may restrict it further.
inline constexpr ::mode_t mode_of_logs = 0640;
/// The mode of a new file that will replace another file. On replacement, the new file gets the mode of the other file.
inline constexpr ::mode_t mode_of_drafts = 0600;

/// Creates an empty `file` of this mode, because SQLite would create a file that everybody can read. SQLite gives its
/// WAL the mode of the database. An existing file stays unchanged. The function does not open an existing file, because
/// closing it would release the locks that this process has on it. If the file cannot be created, SQLite reports why.
void make_with_mode(const std::string& file, ::mode_t mode) noexcept;

/// Syncs the folder of `file` to the disk, so that added and removed names in the folder are on the disk. @throws
/// log_store_error
void synchronize_folder_of(const std::string& file);

}  // namespace tutti::server::journal
