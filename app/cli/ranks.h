#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/cluster/ranks.h"

/// `mpirun -n K lpes search`: what the K processes do.
namespace lpes::cli {

/// The course of a verb that several processes may share. `lead` is what rank 0 does, or the only process (with null);
/// the other ranks evaluate for it and say nothing. An error of joining is every rank's own.
template <class Lead>
[[nodiscard]] Result<int> leadOrServe(Lead&& lead);

/// Unsupported, naming the verb, where mpirun or srun started this process as one of several and the verb shares no
/// work: each would do all of it, and all but one would find the data base locked. Verbs of a moment pass.
[[nodiscard]] Result<void> requireAlone(std::string_view verb);

/// Serves rank 0 until it is done: the exit code.
[[nodiscard]] Result<int> serveLeader(cluster::MpiRanks& ranks);

template <class Lead>
Result<int> leadOrServe(Lead&& lead) {
    auto ranks = cluster::MpiRanks::join();
    if (!ranks) return fail(ranks.error());
    if (*ranks && (*ranks)->rank() != 0) return serveLeader(**ranks);
    return lead(ranks->get());
}

}  // namespace lpes::cli
