/// @file
/// Runs programs written for HyflowCPP on this library (Mishra, "HyflowCPP: A Distributed Transactional Memory
/// Framework for C++", 2013, chapter 3). Provides its macros, `HyflowObject` and `Atomic` as a thin layer over `ref`
/// and `atomically`. New programs do not need this header. docs/cluster.md says how to port a program, and lists the
/// differences.
///
///     class BankAccount : public HyflowObject { … };
///     HYFLOW_REGISTER(BankAccount);
///
///     HYFLOW_ATOMIC_START {
///         HYFLOW_FETCH(id, false);
///         ((BankAccount*)HYFLOW_ON_WRITE(id))->deposit(money);
///     } HYFLOW_ATOMIC_END;
///
/// The names are HyflowCPP's. They are in namespace `tutti::cluster::hyflow`, and, as in HyflowCPP, in `vt_dstm`.
#pragma once

#include "tutti/cluster/hyflow/atomic.hpp"

namespace vt_dstm {
using namespace tutti::cluster::hyflow;
}

/// These two macros enclose a block in braces, which runs as a transaction. Inside another block it is a closed nested
/// block. `return`, or `break` outside of a loop, ends the block and commits it.
///
/// A variable that the block declares and assigns before a checkpoint has no value after that checkpoint. If the
/// declaration has no initializer, the compiler's analysis of uninitialized variables reports the use as an error here.
// clang-format off
#if defined(__clang__)  // Clang reads the state of its warnings at the beginning of a function
#define HYFLOW_ATOMIC_START                                                                   \
    _Pragma("clang diagnostic push")                                                          \
    _Pragma("clang diagnostic error \"-Wuninitialized\"")                                     \
    ::tutti::cluster::hyflow::run([&](::tutti::cluster::hyflow::HyflowContext* __context__) { \
        switch (__context__->goes_on_at())                                                    \
        case 0:
#define HYFLOW_ATOMIC_END }) _Pragma("clang diagnostic pop")
#else  // GCC accepts a pragma only between statements
#define HYFLOW_ATOMIC_START                                                                   \
    ::tutti::cluster::hyflow::run([&](::tutti::cluster::hyflow::HyflowContext* __context__) { \
        _Pragma("GCC diagnostic push")                                                        \
        _Pragma("GCC diagnostic error \"-Wuninitialized\"")                                   \
        switch (__context__->goes_on_at())                                                    \
        case 0:
#define HYFLOW_ATOMIC_END _Pragma("GCC diagnostic pop") })
#endif
// clang-format on

/// Opens an object for reading or for writing. Throws no_such_object.
#define HYFLOW_FETCH(ID, IS_READ) __context__->fetchObject(ID, IS_READ)
/// Opens an object as HYFLOW_FETCH does. If ABORT_ON_NULL is false, returns false when there is no such object.
#define HYFLOW_NFETCH(ID, IS_READ, ABORT_ON_NULL) __context__->fetchObject(ID, IS_READ, ABORT_ON_NULL)
/// Returns a pointer to the object with that id, or to the current state of an object that the block has already
/// opened.
#define HYFLOW_ON_READ(ID) __context__->onReadAccess(ID)
#define HYFLOW_ON_WRITE(ID) __context__->onWriteAccess(ID)
/// Publishes an object that was made by `new`, and takes ownership of it.
#define HYFLOW_PUBLISH_OBJECT(OBJ) __context__->addToPublish(OBJ)
#define HYFLOW_DELETE_OBJECT(OBJ) __context__->addToDelete(OBJ)

/// Enables checkpoints. Must be the first statement of the block. After it, the block may use objects only by these
/// macros. A checkpoint does not record a `tutti::var`, nor objects that are reached by a `ref`.
#define HYFLOW_CHECKPOINT_INIT __context__->checkpoint_init()
/// Sets a checkpoint. After a conflict over an object that the block first used below this line, the block continues at
/// this line: see detail::checkpoints. The lifetime of the block's own variables ends here. Declare longer-lived
/// variables before HYFLOW_ATOMIC_START. Use the macro in the block itself, also in its loops and branches. Do not use
/// it in a function that the block calls, nor in a `switch`. (The technique leaves a function and enters it again at a
/// label of a switch: Duff, 1983; Dunkels et al., "Protothreads", SenSys 2006.)
#define HYFLOW_CHECKPOINT_HERE                  \
    do {                                        \
        __context__->checkpoint_here(__LINE__); \
        return;                                 \
        case __LINE__:;                         \
    } while (false)
/// Executes `*VAR_REF = VAR_VALUE` whenever the block continues at a later checkpoint.
#define HYFLOW_STORE(VAR_REF, VAR_VALUE) __context__->store(VAR_REF, VAR_VALUE)
