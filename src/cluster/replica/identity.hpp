// Who a member is, in a file of its folder: its id, drawn when the folder is made, and its group's number.
//
//   I1  an id belongs to one folder. A member that has lost it, and what it has promised by its votes, is another
//       one, which the group does not know: the others do not talk to it under the old id (transport.hpp)
//   I2  one process uses a folder at a time
#pragma once

#include <cstdint>
#include <string>

namespace tutti::cluster::replica {

struct identity {
    std::uint64_t id = 0;
    std::uint64_t group = 0;
    std::string address;    ///< that others reach it by
    bool founding = false;  ///< of the first member: its log is being made, and holds nothing yet
    std::string listen{};   ///< where it listens, if that is another one
    bool promised = true;   ///< its folder has a durable_record; one of an earlier release has none
};

class home {
public:
    /// Makes the folder, if need be, and takes it. Throws backend::refusal: it cannot, or another process has it.
    explicit home(std::string folder);
    /// The same, of a folder that is there.
    enum existing : std::uint8_t { must_exist };
    home(std::string folder, existing);
    ~home();
    home(const home&) = delete;
    home& operator=(const home&) = delete;

    /// Whether a member lives here already; throws backend::refusal for a file that no member has written.
    [[nodiscard]] bool known(identity& who) const;
    /// Is on the disk when it returns. Throws backend::refusal.
    void write(const identity& who) const;
    /// Where C-Raft keeps log and snapshots; made.
    [[nodiscard]] std::string log_folder() const;
    /// Removes what is in it.
    void clear_log() const;
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

private:
    const std::string folder_;
    int lock_ = -1;
};

/// Replaces the file as a whole; it is on the disk when this returns. Throws backend::refusal.
void replace_file(const std::string& name, const std::string& text);
/// Not 0, and no other's.
[[nodiscard]] std::uint64_t draw_number();

}  // namespace tutti::cluster::replica
