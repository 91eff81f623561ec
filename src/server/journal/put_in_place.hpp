// A file in the place of another, whole at every instant.
#pragma once

#include <sys/types.h>

#include <string>

namespace tutti::server::journal {

/// Writes `anew` through to the disk, gives it the owner and the mode of `file` if that is there, and its name; on disk
/// when it returns. @throws store_error  then `file` is as it was, or is `anew`
void put_in_place(const std::string& file, const std::string& anew);

/// The mode of new logs: the owner writes them, the group reads them. umask(2) may take more away.
inline constexpr ::mode_t mode_of_logs = 0640;
/// The mode of a file until it takes the place of another one, whose mode it gets then.
inline constexpr ::mode_t mode_of_drafts = 0600;

/// Makes an empty `file` of this mode, because SQLite would make one that everybody reads. SQLite gives its own log the
/// mode of the file that it belongs to. A file that is there stays as it is. The function does not open such a file,
/// because to close it would end the locks that this process has on it. If no file can be made, SQLite says why.
void make_with_mode(const std::string& file, ::mode_t mode) noexcept;

/// Writes the folder of `file` through to the disk: names that were given and taken there. @throws store_error
void synchronize_folder_of(const std::string& file);

}  // namespace tutti::server::journal
