#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/leading_states.h"
#include "core/search/genetic_search.h"

// Private to core/studies: what the candidates of a generation have in common is computed once.
namespace lpes::studies {

class ReusingPass;

/// Hidden states that candidates of one generation hand on: where two of them have the same scales in the leading
/// layers, whichever comes later to a pass of prompts begins it behind these layers. All candidates are known before
/// the first is evaluated, so that exactly those states are kept that one of them wants who has not begun the pass yet:
/// the deepest that it shares with another. A state goes when the last of them has begun. No value depends on what is
/// kept; how much is spared depends on who comes first, and so on workers and on what an earlier sitting left.
/// thread-safe; no pass is under way when `expect` is called.
class LayerReuse {
  public:
    /// `groups`: scales of a layer. `mostBytes`: what all states together may take; what would exceed it is not kept.
    LayerReuse(int layers, int groups, std::int64_t mostBytes);

    /// The candidates that are going to be evaluated, as search::Fitness::expect tells them; without those that have
    /// all their outcomes already.
    void expect(const std::vector<search::Candidate>& candidates);
    /// A candidate is through, or will not go on: it wants nothing any more.
    void release(const std::vector<double>& scales);
    /// A candidate's pass over the `number`-th batch; null for one that is not expected. It ends before the next
    /// `expect`.
    [[nodiscard]] std::unique_ptr<ReusingPass> pass(const std::vector<double>& scales, std::size_t number);

    [[nodiscard]] std::int64_t heldBytes() const;

    /// Passes of a prompt through a layer.
    struct LayerPasses {
        std::int64_t all = 0;
        std::int64_t spared = 0;  ///< not computed, because the state behind the layer was there
    };
    /// By generation, of what was scored so far.
    [[nodiscard]] std::map<int, LayerPasses> passes() const;
    /// {"layer_passes", "not_computed", "share", "memory_was_short", "by_generation": [{"generation", "layer_passes",
    /// "not_computed"}…]}
    [[nodiscard]] nlohmann::json summary() const;

  private:
    friend class ReusingPass;

    /// Scales of leading layers that several candidates have and that their next layer tells apart.
    struct Node {
        int layers = 0;
        std::size_t first = 0, last = 0;  ///< the candidates, of m_members

        [[nodiscard]] bool holds(std::size_t member) const { return member >= first && member < last; }
    };
    struct Member {
        int generation = 0;
        bool released = false;
        std::vector<std::size_t> nodes;  ///< on its way from layer 0
        std::vector<bool> begun;         ///< by pass; those behind the end are not

        [[nodiscard]] bool awaits(std::size_t pass) const {
            return !released && (pass >= begun.size() || !begun[pass]);
        }
    };
    struct Held {
        std::shared_ptr<const model::LayerState> state;
        std::size_t users = 0;  ///< candidates that await the pass and have no deeper state
    };
    using HeldStates = std::map<std::pair<std::size_t, std::size_t>, Held>;  ///< by pass, then node

    void plan(const std::vector<search::Candidate>& candidates);
    void releaseMember(Member& member);
    // All below under the mutex.
    [[nodiscard]] HeldStates::iterator deepest(const Member& member, std::size_t pass);
    [[nodiscard]] int layersOf(HeldStates::iterator held) const { return m_nodes[held->first.second].layers; }
    /// The member's node behind so many layers; its place in the member's nodes.
    [[nodiscard]] std::optional<std::size_t> nodeAt(const Member& member, int layers) const;
    /// `node`: as nodeAt says.
    [[nodiscard]] bool wanted(const Member& member, std::size_t pass, std::size_t node);
    void begin(Member& member, std::size_t pass);
    void leave(HeldStates::iterator held);  ///< one user fewer

    const int m_layers;
    const std::size_t m_groups;
    mutable std::mutex m_mutex;  ///< guards everything below
    std::int64_t m_mostBytes;
    std::int64_t m_bytes = 0;
    bool m_memoryWasShort = false;
    std::map<std::vector<double>, std::size_t> m_places;  ///< scales → member
    std::vector<Member> m_members;                        ///< in order of their scales
    std::vector<Node> m_nodes;
    HeldStates m_held;
    std::map<int, LayerPasses> m_passes;
};

/// One candidate's pass. What it would have used is free at its end, whether it was computed or not. thread-compatible.
class ReusingPass final : public model::LeadingStates {
  public:
    ReusingPass(LayerReuse& reuse, std::size_t member, std::size_t number)
        : m_reuse(reuse), m_member(member), m_number(number) {}
    ~ReusingPass() override;
    ReusingPass(const ReusingPass&) = delete;
    ReusingPass& operator=(const ReusingPass&) = delete;

    [[nodiscard]] Known begin() override;
    [[nodiscard]] bool wanted(int layers, std::int64_t bytes) override;
    void keep(int layers, std::shared_ptr<const model::LayerState> state) override;

    /// So many prompts have their scores.
    void scored(std::int64_t prompts);
    /// Memory is short: all states of all candidates are dropped, and none is kept any more.
    void giveMemoryBack();

  private:
    LayerReuse& m_reuse;
    const std::size_t m_member, m_number;
    int m_known = 0;  ///< layers that were not computed
};

}  // namespace lpes::studies
