/// @file
/// What may go wrong in a cluster that does not in one process.
#pragma once

#include <stdexcept>

#include "tutti/detail/config.hpp"
#include "tutti/errors.hpp"

namespace tutti::cluster {

/// The cluster cannot be joined, or a node cannot listen: the message says what to do.
class TUTTI_EXPORT connection_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~connection_error() override;
};

/// A node that the block needs is gone, or has not answered in time. The block had no effect.
class TUTTI_EXPORT node_lost : public out_of_reach {
public:
    node_lost(const std::string& what, unsigned node) : node_lost{what, node, true} {}
    ~node_lost() override;
    /// Its number.
    [[nodiscard]] unsigned node() const noexcept { return node_; }

protected:
    node_lost(const std::string& what, unsigned node, bool outcome_known)
        : out_of_reach{what, outcome_known}, node_{node} {}

private:
    unsigned node_;
};

/// A node was lost after it had been asked to commit. If one other node took part, the block has had all of its effects
/// on that node's objects, or none, and the nodes that are left cannot tell which. If several did, none that is heard
/// has refused: all of them commit the block, or none does. Objects of this node, and variables, keep their values.
class TUTTI_EXPORT outcome_unknown : public node_lost {
public:
    outcome_unknown(const std::string& what, unsigned node) : node_lost{what, node, false} {}
    ~outcome_unknown() override;
};

/// There is no object of that id, or, for `publish`, there is one.
class TUTTI_EXPORT no_such_object : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~no_such_object() override;
};

/// What the object holds is of another type than the one it is read as.
class TUTTI_EXPORT type_mismatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~type_mismatch() override;
};

}  // namespace tutti::cluster
