#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/cluster/ranks.h"
#include "core/cluster/remote_session.h"
#include "core/studies/model_setup.h"
#include "core/studies/run_settings.h"

/// One search on several machines: rank 0 has the search and the data base, the other ranks only a model, and evaluate
/// what they are sent. What is sent first, in CBOR:
///   to a rank    {version, model, dtype, device, threads}
///   from a rank  {ready: {…}} with all that makes numbers, once the model is loaded; or {error: …}
/// then each connection serves one session (cluster/session_messages.h).
namespace lpes::studies {

/// Rank 0's side. thread-compatible.
class SearchRanks {
  public:
    /// Connects the other ranks, `compute.workers` sessions each, and lets them load while this one does. Usage when no
    /// number of threads is set, because every rank must have the same; errors as Ranks::gather.
    [[nodiscard]] static Result<std::unique_ptr<SearchRanks>> gather(cluster::Ranks& ranks,
                                                                     const ComputeSettings& compute,
                                                                     std::stop_token stop);
    /// Sends them home.
    ~SearchRanks();
    SearchRanks(const SearchRanks&) = delete;
    SearchRanks& operator=(const SearchRanks&) = delete;

    /// Waits until all have loaded. Their own errors; BadInput, naming the rank, when it has another model or tokenizer
    /// there, Unsupported when program, LibTorch, processor or compute type are others: results would depend on who
    /// computed what. Failed with kStoppedMessage when stopped.
    [[nodiscard]] Result<void> requireSame(const LoadedModel& model, std::stop_token stop);

    [[nodiscard]] std::vector<model::AnswerSession*> sessions() const;
    /// isLostPeer when a rank is gone that nobody is talking to just now.
    [[nodiscard]] Result<void> requireAlive() const;

  private:
    explicit SearchRanks(cluster::Channels channels, int perRank);

    cluster::Channels m_channels;  ///< in order of rank
    const int m_perRank;
    std::vector<std::unique_ptr<cluster::RemoteSession>> m_sessions;
};

/// The other ranks' side: loads what rank 0 names and serves it until rank 0 is done or gone, which is no error and
/// ends the loading as well. None of `channels`: nothing to do. An error that rank 0 was told of is no error here
/// either. Blocks.
[[nodiscard]] Result<void> serveSearch(cluster::Channels channels, ProgressObserver& observer);

}  // namespace lpes::studies
