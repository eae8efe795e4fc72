#include "core/store/rows.h"

#include <utility>

#include "core/store/names.h"

namespace lpes::store {

namespace {

constexpr std::pair<RunState, std::string_view> kRunStates[] = {
    {RunState::Running, "running"},         {RunState::Paused, "paused"}, {RunState::Stopped, "stopped"},
    {RunState::Interrupted, "interrupted"}, {RunState::Failed, "failed"}, {RunState::Finished, "finished"},
};

constexpr std::pair<CandidateRow::State, std::string_view> kCandidateStates[] = {
    {CandidateRow::State::Evaluated, "evaluated"},   {CandidateRow::State::Duplicate, "duplicate"},
    {CandidateRow::State::Failed, "failed"},         {CandidateRow::State::GivenUp, "given_up"},
    {CandidateRow::State::Infeasible, "infeasible"},
};

template <class Table, class Value>
std::string_view nameOf(const Table& table, Value value) {
    for (const auto& [known, name] : table) {
        if (known == value) return name;
    }
    return "unknown";
}

}  // namespace

std::string_view runStateName(RunState state) {
    return nameOf(kRunStates, state);
}
std::string_view candidateStateName(CandidateRow::State state) {
    return nameOf(kCandidateStates, state);
}

std::optional<RunState> runStateFromName(std::string_view name) {
    for (const auto& [state, known] : kRunStates) {
        if (known == name) return state;
    }
    return std::nullopt;
}

std::optional<CandidateRow::State> candidateStateFromName(std::string_view name) {
    for (const auto& [state, known] : kCandidateStates) {
        if (known == name) return state;
    }
    return std::nullopt;
}

}  // namespace lpes::store
