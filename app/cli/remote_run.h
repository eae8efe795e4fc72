#pragma once

#include <string>

#include "app/cli/run_verb.h"
#include "app/cli/setting_flags.h"
#include "core/remote/remote_search.h"
#include "core/studies/run_settings.h"

namespace lpes::cli {

/// Where a search is to run, and whether somebody stays with it.
struct RemoteOptions {
    remote::Host host;  ///< no name: on this machine
    bool detach = false;
};
/// --host, --remote-lpes, --detach.
void addRemoteOptions(SettingFlags& flags, CLI::App& verb, RemoteOptions& options);

/// Usage where options make no sense together: those above without --host, or --host with one that is about this
/// machine.
[[nodiscard]] Result<void> checkRemoteOptions(const SettingFlags& flags, const RemoteOptions& options,
                                              const RunVerb& verb, bool dryRun);

/// What is asked of the other machine for a new search.
[[nodiscard]] remote::RemoteOrder remoteOrder(const RemoteOptions& options, const RunVerb& verb,
                                              const studies::SearchRunSettings& settings);

/// The course of a search on another machine, as conductStudy: 0, also when it was left running there; 130 when the
/// user stopped it.
[[nodiscard]] Result<int> conductRemoteSearch(const RunVerb& verb, const remote::RemoteOrder& order);

}  // namespace lpes::cli
