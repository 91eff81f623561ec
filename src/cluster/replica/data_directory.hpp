// A member's identity, in a file of its folder: its id, which is drawn when the folder is made, and its group's number.
//
//   IDN1  An id belongs to one folder. A member that has lost its folder has also lost the promises of its votes. Such
//         a member counts as another member, which the group does not know. The others do not talk to that member under
//         the old id (transport.hpp).
//   IDN2  One process uses a folder at a time.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::cluster::replica {

struct identity {
    std::uint64_t id = 0;
    std::uint64_t group = 0;
    std::string address;             ///< the address by which others reach the member
    bool is_founding = false;        ///< true for the first member while its log is being made, and is still empty
    std::string listen{};            ///< where the member listens, if this differs from `address`
    bool has_durable_record = true;  ///< false for folders of an earlier release
};

class data_directory {
public:
    /// Makes the folder if needed, and locks it. Throws backend::engine_error if this fails, or another process has the
    /// folder.
    explicit data_directory(std::string folder);
    /// Locks a folder that must exist.
    enum existing_only : std::uint8_t { must_exist };
    data_directory(std::string folder, existing_only);
    ~data_directory();
    data_directory(const data_directory&) = delete;
    data_directory& operator=(const data_directory&) = delete;

    /// Returns true if a member lives here already. Throws backend::engine_error for a file that no member has written.
    [[nodiscard]] bool read_identity(identity& who) const;
    /// Writes the identity. The file is on the disk when this function returns. Throws backend::engine_error.
    void write_identity(const identity& who) const;
    /// Returns the folder where C-Raft keeps log and snapshots. Makes it if needed.
    [[nodiscard]] std::string log_folder() const;
    /// Removes the content of that folder.
    void clear_log() const;
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

private:
    const std::string folder_;
    int lock_ = -1;
};

/// Replaces a file as a whole. The new file is on the disk when this function returns. Throws backend::engine_error.
void replace_file(const std::string& name, const std::string& text);
/// Draws a unique number other than 0.
[[nodiscard]] std::uint64_t random_number();

}  // namespace tutti::cluster::replica
