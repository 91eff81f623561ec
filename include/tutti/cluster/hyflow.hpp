/// @file
/// Programs for HyflowCPP (Mishra, "HyflowCPP: A Distributed Transactional Memory Framework for C++", 2013, chapter 3)
/// on this library: its macros, `HyflowObject` and `Atomic`, as a thin layer over `ref` and `atomically`. New programs
/// have no use for it. docs/cluster.md says how a program is moved, and what is different.
///
///     class BankAccount : public HyflowObject { … };
///     HYFLOW_REGISTER(BankAccount);
///
///     HYFLOW_ATOMIC_START {
///         HYFLOW_FETCH(id, false);
///         ((BankAccount*)HYFLOW_ON_WRITE(id))->deposit(money);
///     } HYFLOW_ATOMIC_END;
///
/// The names are HyflowCPP's. They are in `tutti::cluster::hyflow`, and in `vt_dstm`, as in HyflowCPP.
#pragma once

#include "tutti/cluster/hyflow/atomic.hpp"

namespace vt_dstm {
using namespace tutti::cluster::hyflow;
}

/// The block between them, in braces, is a transaction; inside another one, a closed nested block. `return` ends it, as
/// does `break` outside of a loop: it commits then.
///
/// A variable of the block that is assigned before a checkpoint and used after it has no value there. Where it was
/// declared without one, the compiler's analysis of uninitialized variables finds the use, and is an error here.
// clang-format off
#if defined(__clang__)  // it asks at the beginning of a function which warnings are errors in it
#define HYFLOW_ATOMIC_START                                                                   \
    _Pragma("clang diagnostic push")                                                          \
    _Pragma("clang diagnostic error \"-Wuninitialized\"")                                     \
    ::tutti::cluster::hyflow::run([&](::tutti::cluster::hyflow::HyflowContext* __context__) { \
        switch (__context__->goes_on_at())                                                    \
        case 0:
#define HYFLOW_ATOMIC_END }) _Pragma("clang diagnostic pop")
#else  // it takes such a line between statements alone
#define HYFLOW_ATOMIC_START                                                                   \
    ::tutti::cluster::hyflow::run([&](::tutti::cluster::hyflow::HyflowContext* __context__) { \
        _Pragma("GCC diagnostic push")                                                        \
        _Pragma("GCC diagnostic error \"-Wuninitialized\"")                                   \
        switch (__context__->goes_on_at())                                                    \
        case 0:
#define HYFLOW_ATOMIC_END _Pragma("GCC diagnostic pop") })
#endif
// clang-format on

/// Opens an object, to read it or to write it. Throws no_such_object.
#define HYFLOW_FETCH(ID, IS_READ) __context__->fetchObject(ID, IS_READ)
/// The same, but where ABORT_ON_NULL is false says whether there is one.
#define HYFLOW_NFETCH(ID, IS_READ, ABORT_ON_NULL) __context__->fetchObject(ID, IS_READ, ABORT_ON_NULL)
/// A pointer to the object of that id, or to what is now in the place of an object that the block has.
#define HYFLOW_ON_READ(ID) __context__->onReadAccess(ID)
#define HYFLOW_ON_WRITE(ID) __context__->onWriteAccess(ID)
/// Makes an object exist that was made by `new`, and takes it.
#define HYFLOW_PUBLISH_OBJECT(OBJ) __context__->addToPublish(OBJ)
#define HYFLOW_DELETE_OBJECT(OBJ) __context__->addToDelete(OBJ)

/// The block has checkpoints. First in the block, which from here on touches objects by these macros only: a checkpoint
/// knows nothing of a `tutti::var`, nor of objects that are reached by a `ref`.
#define HYFLOW_CHECKPOINT_INIT __context__->checkpoint_init()
/// A conflict over something that the block touches first after this takes it back to here, and not further: see
/// detail::checkpoints. The block's own variables end here, so what lives longer is declared before
/// HYFLOW_ATOMIC_START. In the block itself, in loops and branches of it, but in no function that it calls and in no
/// `switch`. (To leave a function and to enter it again at a label of a switch: Duff, 1983; Dunkels et al.,
/// "Protothreads", SenSys 2006.)
#define HYFLOW_CHECKPOINT_HERE                  \
    do {                                        \
        __context__->checkpoint_here(__LINE__); \
        return;                                 \
        case __LINE__:;                         \
    } while (false)
/// `*VAR_REF = VAR_VALUE` whenever the block goes on at a later checkpoint.
#define HYFLOW_STORE(VAR_REF, VAR_VALUE) __context__->store(VAR_REF, VAR_VALUE)
